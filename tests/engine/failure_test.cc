#include <gmock/gmock.h>
#include <signal.h>

#include "tests/engine/engine_scene.h"

namespace muster::testing {
namespace failure_test {

using ::testing::HasSubstr;
using State = EngineHealth::State;

class EngineFailureTest : public EngineScene {
 protected:
  const EngineHealth& health(const std::string& name) { return node(name).engine->health(); }

  /// Until the engine takes no more.
  void fill(ObjectStore& store, const std::function<std::string(int)>& key) {
    const std::string body(200'000, 'x');
    for (int i = 0; i < 1000; ++i) {
      if (!put(store, key(i), body).ok()) return;
    }
    FAIL() << "the engine took everything";
  }
};

TEST_F(EngineFailureTest, AnEtcdThatDiesIsStartedAgain) {
  make_cluster({"s1"});
  start_all();
  const auto store = open("s1");
  ASSERT_TRUE(put(*store, "key", "body").ok());
  const pid_t before = etcd_of("s1");
  ASSERT_EQ(::kill(before, SIGKILL), 0);
  ASSERT_TRUE(until([&] { return health("s1").state == State::kRestarting; }));
  ASSERT_TRUE(until([&] { return health("s1").state == State::kServing; }));
  EXPECT_NE(etcd_of("s1"), before);
  EXPECT_EQ(get(*store, "key"), "body");
  EXPECT_FALSE(node("s1").ended);
}

TEST_F(EngineFailureTest, WithoutAMajorityItSaysSoAndRecovers) {
  make_cluster({"s1", "s2", "s3"});
  start_all();
  kill("s2");
  kill("s3");
  ASSERT_TRUE(until([&] { return health("s1").state == State::kNoLeader; }));
  EXPECT_FALSE(health("s1").words.empty());
  start("s3");
  await_ready("s3");
  ASSERT_TRUE(until([&] { return health("s1").state == State::kServing; }));
  EXPECT_TRUE(put(*open("s1"), "key", "body").ok());
}

// Takes about 13 s: 8 MB fill the quota before the upkeep, every 3 s, sees it; the upkeep then
// compacts and defragments a real etcd.
TEST_F(EngineFailureTest, HistoryThatFillsTheQuotaIsForgotten) {
  make_cluster({"s1"});
  node("s1").options.quota_bytes = 8 << 20;
  // Slow enough that the quota is reached before someone looks.
  node("s1").options.upkeep_interval = 3s;
  start_all();
  const auto store = open("s1");
  fill(*store, [](int) { return "key"; });
  ASSERT_TRUE(until([&] { return health("s1").state == State::kFull; }));
  EXPECT_THAT(health("s1").words, HasSubstr("making room"));
  ASSERT_TRUE(until([&] { return health("s1").state == State::kServing; }));
  EXPECT_TRUE(put(*store, "key", "small").ok());
  EXPECT_LT(health("s1").file_bytes, 4U << 20);
}

TEST_F(EngineFailureTest, MoreThanTheQuotaHoldsIsReported) {
  make_cluster({"s1"});
  node("s1").options.quota_bytes = 8 << 20;
  start_all();
  const auto store = open("s1");
  fill(*store, [](int i) { return "key" + std::to_string(i); });
  ASSERT_TRUE(until([&] {
    return health("s1").words.find("raise --engine-quota-mb") != std::string::npos;
  })) << health("s1").words;
  EXPECT_EQ(health("s1").state, State::kFull);
  EXPECT_THAT(get(*store, "key0"), HasSubstr("xxx"));
}

// Takes about 7 s: etcd lets the wiped member in only when the others have been connected for 5 s.
TEST_F(EngineFailureTest, DamagedDataAreReportedAndNotUsed) {
  make_cluster({"s1", "s2", "s3"});
  start_all();
  ASSERT_TRUE(put(*open("s1"), "key", std::string(50'000, 'x')).ok());
  kill("s3");
  const std::string wal = node("s3").options.etcd_directory() + "/member/wal";
  ASSERT_EQ(run_program({"sh", "-c",
                         "for f in " + wal +
                             "/*.wal; do printf 'damaged!' | dd of=$f bs=1 "
                             "seek=20000 conv=notrunc status=none; done"}),
            0);
  start("s3");
  ASSERT_TRUE(until([&] { return node("s3").ready.has_value(); }));
  ASSERT_FALSE(node("s3").ready->ok());
  EXPECT_THAT(node("s3").ready->error().message, HasSubstr("are damaged"));
  // What the sentence advises works.
  wipe("s3");
  start("s3");
  await_ready("s3");
}

}  // namespace failure_test
}  // namespace muster::testing
