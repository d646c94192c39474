#include "core/client/watch_machine.h"

#include <gtest/gtest.h>

namespace muster::client {
namespace watch_machine_test {

constexpr MonoTime kStart{100s};
using Kinds = std::vector<WatchEventKind>;

Node node(const std::string& id) {
  Node n;
  n.id = NodeId(id);
  n.state = NodeState::kActive;
  return n;
}

TopologyUpdate sync(std::uint64_t version, const std::vector<std::string>& ids = {}) {
  TopologyImage image;
  image.version = TopologyVersion(version);
  for (const std::string& id : ids) image.nodes.push_back(node(id));
  return {image.version, TopologyVersion(0), FullSync{image}};
}
TopologyUpdate added(std::uint64_t version, const std::string& id) {
  return {TopologyVersion(version), TopologyVersion(version - 1), NodeAdded{node(id)}};
}
TopologyUpdate keepalive(std::uint64_t version) {
  return {TopologyVersion(version), TopologyVersion(version), Keepalive{}};
}

class WatchMachineTest : public ::testing::Test {
 protected:
  bool give(const TopologyUpdate& update, MonoTime now = kStart) {
    return machine.receive(update, now, events);
  }
  [[nodiscard]] Kinds kinds() {
    Kinds all;
    for (const WatchEvent& event : events) all.push_back(event.kind);
    events.clear();
    return all;
  }
  WatchMachine machine{WatchConfig{}, Random(1)};
  std::vector<WatchEvent> events;
};

TEST_F(WatchMachineTest, BeginsWithASnapshotAndGoesOnWhereItStood) {
  EXPECT_EQ(machine.begin(kStart), TopologyVersion(0));
  ASSERT_TRUE(give(sync(7, {"a"})));
  ASSERT_TRUE(give(added(8, "b")));
  EXPECT_EQ(kinds(), (Kinds{WatchEventKind::kSnapshot, WatchEventKind::kNodeAdded}));
  (void)machine.end(kStart);
  EXPECT_EQ(machine.begin(kStart), TopologyVersion(8));
  ASSERT_TRUE(give(added(9, "c")));
  EXPECT_EQ(kinds(), Kinds{WatchEventKind::kNodeAdded});
  EXPECT_EQ(machine.cache().view()->size(), 3U);
}

// T14, T16: a gap is noticed and closed by a full sync, never passed over.
TEST_F(WatchMachineTest, AGapIsClosedByAFullSync) {
  (void)machine.begin(kStart);
  ASSERT_TRUE(give(sync(7, {"a"})));
  EXPECT_FALSE(give(added(9, "c")));
  (void)machine.end(kStart);
  EXPECT_EQ(machine.begin(kStart), TopologyVersion(0));
  ASSERT_TRUE(give(sync(9, {"a", "b", "c"})));
  EXPECT_EQ(kinds(), (Kinds{WatchEventKind::kSnapshot, WatchEventKind::kSnapshot}));
}

// P16: anyone who is too slow is told so, and then gets everything.
TEST_F(WatchMachineTest, LaggedIsFollowedByASnapshotEvenAtTheSameVersion) {
  (void)machine.begin(kStart);
  ASSERT_TRUE(give(sync(7)));
  ASSERT_TRUE(
      give({TopologyVersion(7), TopologyVersion(7), Lagged{TopologyVersion(9), 2, "slow"}}));
  ASSERT_TRUE(give(sync(9)));
  EXPECT_EQ(kinds(),
            (Kinds{WatchEventKind::kSnapshot, WatchEventKind::kLagged, WatchEventKind::kSnapshot}));
}

TEST_F(WatchMachineTest, AChangeAfterLaggedInsteadOfASyncIsRefused) {
  (void)machine.begin(kStart);
  ASSERT_TRUE(give(sync(7)));
  ASSERT_TRUE(give({TopologyVersion(7), TopologyVersion(7), Lagged{}}));
  EXPECT_FALSE(give(added(8, "x")));
  (void)machine.end(kStart);
  EXPECT_EQ(machine.begin(kStart), TopologyVersion(0));
}

TEST_F(WatchMachineTest, SilenceOfSixtySecondsEndsAStream) {
  (void)machine.begin(kStart);
  EXPECT_EQ(machine.silent_at(), kStart + 10s);
  ASSERT_TRUE(give(sync(7), kStart + 1s));
  EXPECT_EQ(machine.silent_at(), kStart + 61s);
  ASSERT_TRUE(give(keepalive(7), kStart + 31s));
  EXPECT_EQ(machine.silent_at(), kStart + 91s);
}

TEST_F(WatchMachineTest, AFullSyncOfTheSameVersionIsNoNews) {
  (void)machine.begin(kStart);
  ASSERT_TRUE(give(sync(7)));
  (void)machine.end(kStart);
  (void)machine.begin(kStart);
  ASSERT_TRUE(give(sync(7)));
  EXPECT_EQ(kinds(), Kinds{WatchEventKind::kSnapshot});
}

TEST_F(WatchMachineTest, AServerThatIsBehindIsNotBelieved) {
  (void)machine.begin(kStart);
  ASSERT_TRUE(give(sync(7)));
  EXPECT_FALSE(give(sync(5), kStart + 1s));
  EXPECT_NE(machine.reason().find("behind"), std::string::npos);
  EXPECT_FALSE(give(sync(6), kStart + 20s));
  EXPECT_EQ(machine.cache().version(), TopologyVersion(7));
  // One that has caught up settles it; the next one that is behind begins anew.
  ASSERT_TRUE(give(added(8, "b"), kStart + 25s));
  EXPECT_FALSE(give(sync(6), kStart + 40s));
  // The engine was replaced by an empty one: there is nothing to wait for.
  EXPECT_TRUE(give(sync(2), kStart + 70s));
  EXPECT_EQ(machine.cache().version(), TopologyVersion(2));
}

// After a restore from a backup a version that was seen means something else.
TEST_F(WatchMachineTest, AnotherHistoryIsTakenAtOnceAndAskedFor) {
  const auto of = [](const char* history, TopologyUpdate update) {
    std::get<FullSync>(update.what).image.history = history;
    return update;
  };
  (void)machine.begin(kStart);
  EXPECT_EQ(machine.history(), "");
  ASSERT_TRUE(give(of("one", sync(7, {"a"}))));
  EXPECT_EQ(machine.history(), "one");
  EXPECT_FALSE(give(of("one", sync(5))));
  EXPECT_TRUE(give(of("two", sync(5, {"b"}))));
  EXPECT_EQ(machine.history(), "two");
  EXPECT_EQ(machine.cache().version(), TopologyVersion(5));
  // Of the same version, and not the same.
  (void)kinds();
  EXPECT_TRUE(give(of("three", sync(5, {"c"}))));
  EXPECT_EQ(kinds(), Kinds{WatchEventKind::kSnapshot});
}

TEST_F(WatchMachineTest, WaitsGrowWhileStreamsBringNothingAndBeginAnewAfterOneThatDid) {
  MonoTime now = kStart;
  Duration wait{0};
  for (int i = 0; i < 12; ++i) {
    (void)machine.begin(now);
    const MonoTime next = machine.end(now);
    wait = next - now;
    EXPECT_LE(wait, scale(5s, 1.25));
    if (i == 0) {
      EXPECT_LE(wait, scale(100ms, 1.25));
    }
    now = next;
  }
  EXPECT_GE(wait, scale(5s, 0.75) - 1ns);
  (void)machine.begin(now);
  ASSERT_TRUE(give(sync(1), now));
  EXPECT_LE(machine.end(now) - now, scale(100ms, 1.25));
}

TEST_F(WatchMachineTest, NumbersThatCannotWorkAreRefused) {
  EXPECT_TRUE(WatchConfig{}.validate());
  WatchConfig config;
  config.silence_max = 0s;
  EXPECT_TRUE(config.validate().is(Errc::kInvalid));
  config = {};
  config.delay_max = 1ms;
  EXPECT_TRUE(config.validate().is(Errc::kInvalid));
}

}  // namespace watch_machine_test
}  // namespace muster::client
