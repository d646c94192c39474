#include "coordinator/fenced_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "elector/settled_put.h"
#include "elector/testing.h"
#include "store/file/test_client.h"

namespace muster {
namespace fenced_store_test {

using testing::Fault;
using testing::SharedWorld;
using testing::TestProcess;

constexpr char kKey[] = "app/ledger";

struct FencedStoreTest : ::testing::Test {
  SharedWorld world;
  TestProcess old_process{world};
  TestProcess new_process{world};
  FencedStore old_leader{old_process.store(), Random(1)};
  FencedStore new_leader{new_process.store(), Random(2)};

  void fault_once(TestProcess& process, Fault fault) {
    auto left = std::make_shared<int>(1);
    process.set_script(
        [=](std::uint64_t, bool writes) { return writes && (*left)-- > 0 ? fault : Fault::kNone; });
  }
};

TEST_F(FencedStoreTest, KeepsTheBodyAndTheEpochOfItsLastWrite) {
  const std::string bytes("a\0b\n\xff", 5);
  ASSERT_TRUE(old_leader.put(kKey, bytes, Epoch(5)));
  const auto found = new_leader.get(kKey);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found->body, bytes);
  EXPECT_EQ(found->epoch, Epoch(5));
}

// S08: what a replaced leader still sends is refused where it arrives.
TEST_F(FencedStoreTest, RefusesAnEpochLowerThanTheHighestSeen) {
  ASSERT_TRUE(new_leader.put(kKey, "new", Epoch(7)));
  const Status refused = old_leader.put(kKey, "old", Epoch(5));
  EXPECT_TRUE(refused.is(Errc::kDenied));
  EXPECT_EQ(refused.error().message, "app/ledger: epoch 5 is behind 7");
  EXPECT_TRUE(old_leader.erase(kKey, Epoch(5)).is(Errc::kDenied));
  EXPECT_TRUE(old_leader.fence(kKey, Epoch(5)).is(Errc::kDenied));
  EXPECT_EQ(*new_leader.get(kKey)->body, "new");
}

// R14: a refusal at the resource is told by the metric that people watch.
TEST_F(FencedStoreTest, RefusalsCountAmongThoseOfThePlugin) {
  struct Named final : CoordinatorPlugin {
    [[nodiscard]] std::string name() const override { return "ledger"; }
  } plugin;
  FencedStore counted(old_process.store(), Random(3), &plugin);
  ASSERT_TRUE(counted.put(kKey, "first", Epoch(5)));
  EXPECT_EQ(plugin.epoch_drift_events(), 0u);
  ASSERT_TRUE(new_leader.put(kKey, "new", Epoch(7)));
  EXPECT_TRUE(counted.put(kKey, "old", Epoch(5)).is(Errc::kDenied));
  EXPECT_TRUE(counted.fence(kKey, Epoch(6)).is(Errc::kDenied));
  EXPECT_EQ(plugin.epoch_drift_events(), 2u);
}

TEST_F(FencedStoreTest, WritesOfOneEpochFollowEachOther) {
  ASSERT_TRUE(new_leader.put(kKey, "one", Epoch(7)));
  ASSERT_TRUE(new_leader.put(kKey, "two", Epoch(7)));
  EXPECT_EQ(*new_leader.get(kKey)->body, "two");
}

TEST_F(FencedStoreTest, FenceShutsTheOldLeaderOutBeforeTheNewOneWorks) {
  ASSERT_TRUE(old_leader.put(kKey, "old", Epoch(5)));
  ASSERT_TRUE(new_leader.fence(kKey, Epoch(6)));
  EXPECT_TRUE(old_leader.put(kKey, "late", Epoch(5)).is(Errc::kDenied));
  EXPECT_EQ(*new_leader.get(kKey)->body, "old");
}

TEST_F(FencedStoreTest, FenceHoldsForAnObjectThatDoesNotExistYet) {
  ASSERT_TRUE(new_leader.fence(kKey, Epoch(6)));
  EXPECT_TRUE(new_leader.get(kKey).is(Errc::kNotFound));
  EXPECT_TRUE(old_leader.put(kKey, "late", Epoch(5)).is(Errc::kDenied));
}

TEST_F(FencedStoreTest, ErasingKeepsTheEpoch) {
  ASSERT_TRUE(new_leader.put(kKey, "new", Epoch(7)));
  ASSERT_TRUE(new_leader.erase(kKey, Epoch(7)));
  EXPECT_TRUE(new_leader.get(kKey).is(Errc::kNotFound));
  EXPECT_TRUE(old_leader.put(kKey, "old", Epoch(5)).is(Errc::kDenied));
}

// E6: a write that lands late cannot pass a fence that was raised meanwhile.
TEST_F(FencedStoreTest, AWriteInFlightDoesNotLandAfterTheFence) {
  ASSERT_TRUE(old_leader.put(kKey, "old", Epoch(5)));
  old_process.set_script(
      [](std::uint64_t, bool writes) { return writes ? Fault::kLate : Fault::kNone; });
  EXPECT_TRUE(old_leader.put(kKey, "late", Epoch(5)).is(Errc::kAmbiguous));
  ASSERT_TRUE(new_leader.fence(kKey, Epoch(6)));
  old_process.land_late();
  EXPECT_EQ(*new_leader.get(kKey)->body, "old");
  EXPECT_EQ(new_leader.get(kKey)->epoch, Epoch(6));
}

// P01: the own write, answered with a conflict or not at all, is known by its nonce.
TEST_F(FencedStoreTest, AmbiguousWritesAreReadBack) {
  for (const Fault fault : {Fault::kReplyLost, Fault::kRequestLost, Fault::kResent}) {
    fault_once(old_process, fault);
    EXPECT_TRUE(old_leader.put(kKey, "body", Epoch(5)));
    EXPECT_EQ(*new_leader.get(kKey)->body, "body");
  }
}

TEST_F(FencedStoreTest, BytesOfOthersAreReportedAndLeftAlone) {
  ASSERT_TRUE(old_process.store().put(kKey, "not ours", Precondition::absent()));
  EXPECT_TRUE(old_leader.put(kKey, "x", Epoch(5)).is(Errc::kCorrupt));
  EXPECT_EQ(old_process.store().get(kKey)->body, "not ours");
}

/// Objects in a directory, where a test can damage them.
struct DamagedFenceTest : ::testing::Test {
  file::TempDir dir;
  file::TestClient client{dir.path()};
  SyncStore store{client.loop().loop(), client.store(), 20s};
  const std::string path = dir.path() + "/objects/app+/ledger";

  void cut() const { std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1); }
};

TEST_F(DamagedFenceTest, AFenceThatIsDamagedLetsNobodyPast) {
  FencedStore leader(store, Random(1));
  ASSERT_TRUE(leader.put(kKey, "new", Epoch(7)));
  cut();
  for (const Epoch epoch : {Epoch(5), Epoch(9)}) {
    const Status refused = leader.put(kKey, "x", epoch);
    ASSERT_TRUE(refused.is(Errc::kCorrupt)) << refused.error().message;
    EXPECT_NE(refused.error().message.find(path), std::string::npos) << refused.error().message;
  }
  EXPECT_TRUE(leader.get(kKey).is(Errc::kCorrupt));
}

TEST_F(DamagedFenceTest, AWriteThatMeetsDamageIsSettledOnlyAtTheRevisionOfTheDamage) {
  const auto first = settled_put(store, kKey, "one", Precondition::absent());
  ASSERT_TRUE(first);
  cut();
  EXPECT_TRUE(settled_put(store, kKey, "two", Precondition::at(*first)).is(Errc::kAmbiguous));
  const Revision damaged = store.get(kKey)->revision;
  EXPECT_TRUE(settled_put(store, kKey, "two", Precondition::at(damaged)));
  EXPECT_EQ(store.get(kKey)->body, "two");
}

TEST_F(FencedStoreTest, ARaceOfTwoEpochsEndsWithTheHigherOne) {
  for (int round = 0; round < 50; ++round) {
    const Key key = "race/" + std::to_string(round);
    Status low = Done{};
    std::thread rival([&] { low = old_leader.put(key, "low", Epoch(1)); });
    const Status high = new_leader.put(key, "high", Epoch(2));
    rival.join();
    EXPECT_TRUE(high);
    EXPECT_TRUE(low.ok() || low.is(Errc::kDenied));
    EXPECT_EQ(*new_leader.get(key)->body, "high");
  }
}

TEST(FencedObjectTest, RefusesBytesThatItDidNotWrite) {
  for (const char* bytes : {"", "muster-fenced/1 5 n body", "muster-fenced/2 5 n body\nx",
                            "muster-fenced/1 -5 n body\nx", "muster-fenced/1 5 n none\nx",
                            "muster-fenced/1 5 n\nx", "muster-fenced/1 5 n other\n"}) {
    EXPECT_TRUE(decode_fenced(bytes).is(Errc::kCorrupt)) << bytes;
  }
}

}  // namespace fenced_store_test
}  // namespace muster
