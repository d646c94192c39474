#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>

#include "base/log.h"
#include "tests/engine/engine_scene.h"

namespace muster::testing {
namespace cluster_test {

using ::testing::HasSubstr;
using State = EngineHealth::State;

class EngineClusterTest : public EngineScene {
 protected:
  Result<Done> remove(const std::string& by, const std::string& name) {
    std::optional<Result<Done>> removed;
    node(by).engine->remove_member(name, [&](Result<Done> result) { removed = std::move(result); });
    EXPECT_TRUE(until([&] { return removed.has_value(); }));
    return *removed;
  }

  Result<engine::Members> admit(const std::string& by, const engine::Admission& request) {
    std::optional<Result<engine::Members>> admitted;
    node(by).engine->admit(request,
                           [&](Result<engine::Members> result) { admitted = std::move(result); });
    EXPECT_TRUE(until([&] { return admitted.has_value(); }));
    return *admitted;
  }

  std::size_t votes(const std::string& name) {
    const auto all = members(name);
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const engine::Member& each) { return !each.learner; }));
  }

  std::uint64_t id_of(const std::string& by, const std::string& name) {
    const auto all = members(by);
    const engine::Member* const member = engine::find_name(all, name);
    return member == nullptr ? 0 : member->id;
  }
};

// T02: the servers form one cluster, not three.
TEST_F(EngineClusterTest, ThreeServersFormOneCluster) {
  make_cluster({"s1", "s2", "s3"});
  start_all();
  EXPECT_EQ(votes("s1"), 3U);
  ASSERT_TRUE(put(*open("s1"), "key", "body").ok());
  EXPECT_EQ(get(*open("s2"), "key"), "body");
  EXPECT_EQ(get(*open("s3"), "key"), "body");
}

TEST_F(EngineClusterTest, TheFirstStartWaitsForEverybody) {
  make_cluster({"s1", "s2", "s3"});
  start("s1");
  start("s2");
  pass(1500ms);
  EXPECT_FALSE(node("s1").ready || node("s2").ready);
  EXPECT_TRUE(etcds().empty());
  start("s3");
  for (const char* name : {"s1", "s2", "s3"}) await_ready(name);
}

// After a power cut machines come up minutes apart, and an operator types commands one by one.
TEST_F(EngineClusterTest, AServerWaitsForTheOthersWithoutEndAndSaysForWhom) {
  make_cluster({"s1", "s2", "s3"});
  std::atomic<int> told{0};
  set_log_sink([&](const LogLine& line) {
    if (line.message != "engine still waits") return;
    for (const auto& [name, value] : line.fields) {
      told += value.find("waiting for s3 at http://127.0.0.1:") != value.npos ? 1 : 0;
    }
  });
  node("s1").options.start_timeout = 1s;
  start("s1");
  start("s2");
  EXPECT_TRUE(until([&] { return told == 2; }));
  set_log_sink({});
  EXPECT_FALSE(node("s1").ready.has_value());
  start("s3");
  for (const char* name : {"s1", "s2", "s3"}) await_ready(name);
}

// T03: killing all of them at once loses nothing that was acknowledged.
TEST_F(EngineClusterTest, AllKilledAtOnceComeBackWithEverything) {
  make_cluster({"s1", "s2", "s3"});
  start_all();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(put(*open("s2"), "key" + std::to_string(i), "body").ok());
  }
  for (const char* name : {"s1", "s2", "s3"}) kill(name);
  EXPECT_TRUE(etcds().empty());
  start_all();
  const auto store = open("s3");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(*store, "key" + std::to_string(i)), "body");
}

// Takes about 7 s: etcd replaces a member only when the others have been connected for 5 s.
TEST_F(EngineClusterTest, AServerWithoutItsDataIsReplaced) {
  make_cluster({"s1", "s2", "s3"});
  start_all();
  ASSERT_TRUE(put(*open("s1"), "key", "body").ok());
  const std::uint64_t before = id_of("s1", "s3");
  kill("s3");
  wipe("s3");
  // With the options of its first start, as an operator or systemd would.
  start("s3");
  await_ready("s3");
  EXPECT_NE(id_of("s1", "s3"), before);
  EXPECT_EQ(votes("s1"), 3U);
  EXPECT_EQ(get(*open("s3"), "key"), "body");
}

// The two that are left could otherwise elect each other and forget what the third one knows.
TEST_F(EngineClusterTest, AServerWithoutItsDataDoesNotVoteWithTheOthersGone) {
  // Takes about 8 s: nothing may happen for 1.5 s, and etcd then lets the wiped member in only when
  // the others have been connected for 5 s.
  make_cluster({"s1", "s2", "s3"});
  start_all();
  for (const char* name : {"s1", "s2", "s3"}) kill(name);
  wipe("s3");
  start("s3");
  pass(1500ms);
  EXPECT_FALSE(node("s3").ready);
  EXPECT_TRUE(etcds().empty());
  start("s1");
  start("s2");
  for (const char* name : {"s1", "s2", "s3"}) await_ready(name);
  EXPECT_EQ(votes("s1"), 3U);
}

TEST_F(EngineClusterTest, AServerJoinsLearnsAndVotes) {
  make_cluster({"s1"});
  start_all();
  ASSERT_TRUE(put(*open("s1"), "key", "body").ok());
  make_joiner("s2", "s1");
  start("s2");
  await_ready("s2");
  EXPECT_EQ(votes("s1"), 2U);
  EXPECT_EQ(get(*open("s2"), "key"), "body");
  // It needs nobody's leave to come back.
  stop("s2");
  start("s2");
  await_ready("s2");
  EXPECT_EQ(votes("s2"), 2U);
}

TEST_F(EngineClusterTest, NobodyIsAdmittedWhoCannotBeReached) {
  make_cluster({"s1"});
  start_all();
  const std::string url = "http://127.0.0.1:" + std::to_string(port());
  const auto refused = admit("s1", {"s2", url});
  ASSERT_TRUE(refused.is(Errc::kUnavailable));
  EXPECT_THAT(refused.error().message, HasSubstr("s2 does not answer at " + url));
  EXPECT_EQ(members("s1").size(), 1U);
}

TEST_F(EngineClusterTest, AMemberThatRunsIsNotReplaced) {
  make_cluster({"s1", "s2", "s3"});
  start_all();
  const std::uint64_t before = id_of("s1", "s2");
  const auto& options = node("s2").options;
  const auto refused = admit("s1", {"s2", options.peer_url(options.peer)});
  ASSERT_TRUE(refused.is(Errc::kInvalid));
  EXPECT_THAT(refused.error().message, HasSubstr("a member runs at"));
  EXPECT_EQ(id_of("s1", "s2"), before);
}

// Takes about 6 s: etcd removes a member only when the members have been connected for 5 s.
TEST_F(EngineClusterTest, ARemovedMemberEndsAndSaysSo) {
  make_cluster({"s1", "s2", "s3"});
  start_all();
  ASSERT_TRUE(until([&] {
    // Refused until the members have been connected for five seconds.
    pass(200ms);
    const auto removed = remove("s1", "s3");
    return removed.ok() || removed.is(Errc::kNotFound);
  }));
  ASSERT_TRUE(until([&] { return node("s3").ended.has_value(); }));
  EXPECT_THAT(node("s3").ended->message, HasSubstr("removed from the cluster"));
  EXPECT_EQ(votes("s1"), 2U);
  EXPECT_EQ(etcds().size(), 2U);
  EXPECT_TRUE(remove("s1", "s3").is(Errc::kNotFound));
  // Its old data do not bring it back.
  start("s3");
  ASSERT_TRUE(until([&] { return node("s3").ready.has_value(); }));
  ASSERT_FALSE(node("s3").ready->ok());
  EXPECT_THAT(node("s3").ready->error().message, HasSubstr("removed from the cluster"));
}

TEST_F(EngineClusterTest, TheLastMemberStays) {
  make_cluster({"s1"});
  start_all();
  EXPECT_TRUE(remove("s1", "s1").is(Errc::kInvalid));
}

class EngineTlsTest : public EngineClusterTest,
                      public ::testing::WithParamInterface<const char*> {};

// Takes about 8 s: etcd lets the wiped member in only when the others have been connected for 5 s.
TEST_P(EngineTlsTest, MembersShowCertificatesAndSpeakTls13Only) {
  const TlsFiles tls = make_certificates(GetParam());
  make_cluster({"s1", "s2", "s3"});
  for (const char* name : {"s1", "s2", "s3"}) node(name).options.tls = tls;
  start_all();
  ASSERT_TRUE(put(*open("s1"), "key", "body").ok());
  EXPECT_EQ(get(*open("s3"), "key"), "body");
  kill("s3");
  wipe("s3");
  start("s3");
  await_ready("s3");
  EXPECT_EQ(get(*open("s3"), "key"), "body");

  const std::string url = node("s1").options.peer_url(node("s1").options.peer) + "/members";
  const std::vector<std::string> curl{"curl",      "-sf",      "--http1.1", "-o",
                                      "/dev/null", "--cacert", tls.ca};
  const auto request = [&](std::vector<std::string> more) {
    std::vector<std::string> words = curl;
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(url);
    return run_program(words);
  };
  EXPECT_EQ(request({"--cert", tls.cert, "--key", tls.key}), 0);
  EXPECT_EQ(request({"--cert", tls.cert, "--key", tls.key, "--tls-max", "1.2"}), 35);
  EXPECT_NE(request({}), 0);
}

INSTANTIATE_TEST_SUITE_P(Keys, EngineTlsTest, ::testing::Values("rsa", "ec"));

}  // namespace cluster_test
}  // namespace muster::testing
