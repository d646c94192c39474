#include <gtest/gtest.h>

#include <string>

#include "core/membership/testing.h"
#include "core/membership/topology.h"

namespace muster::membership {
namespace operator_commands_test {

using namespace testing;

/// What operators ask of a topology: drains, and the ring.
class OperatorCommandsTest : public ::testing::Test {
 protected:
  ApplyResult apply(const Command& command, std::int64_t seconds = 0) {
    return topology_.apply(command, at(seconds));
  }
  void joined(const std::string& id) {
    apply(registration(id));
    apply(beat(topology_, id));
  }
  void brought_down(const std::string& id) {
    apply(MarkSuspect{seen(topology_, id), {}});
    apply(MarkDown{seen(topology_, id), {}});
  }
  [[nodiscard]] const NodeEntry& node(const std::string& id) const {
    return *topology_.find(NodeId(id));
  }

  Topology topology_;
};

// R27: an operator's drain was lost when the node restarted cleanly.
TEST_F(OperatorCommandsTest, ADrainOutlivesDeregistrationUntilItIsTakenBack) {
  joined("a");
  ASSERT_EQ(apply(SetDrain{NodeId("a"), true, {}}).events.size(), 1U);
  EXPECT_EQ(state(topology_, "a"), NodeState::kDraining);
  for (unsigned generation = 2; generation < 5; ++generation) {
    ASSERT_TRUE(apply(DeregisterNode{NodeId("a"), {}, {}}).outcome);
    const ApplyResult back = apply(registration("a", generation));
    ASSERT_EQ(back.events.size(), 1U);
    EXPECT_TRUE(back.events[0].node.drain_requested);
    apply(beat(topology_, "a"));
    EXPECT_EQ(state(topology_, "a"), NodeState::kDraining);
  }
  // Drained again: nothing changes that anybody could see.
  EXPECT_TRUE(apply(SetDrain{NodeId("a"), true, {}}).events.empty());
  ASSERT_EQ(apply(SetDrain{NodeId("a"), false, {}}).events.size(), 1U);
  EXPECT_EQ(state(topology_, "a"), NodeState::kActive);
  EXPECT_TRUE(topology_.drains().empty());
}

TEST_F(OperatorCommandsTest, ADrainIsTakenBackWhileTheNodeIsAway) {
  joined("a");
  ASSERT_TRUE(apply(SetDrain{NodeId("a"), true, {}}).outcome);
  apply(DeregisterNode{NodeId("a"), {}, {}});
  EXPECT_TRUE(apply(SetDrain{NodeId("a"), true, {}}).outcome) << "it is drained already";
  ASSERT_TRUE(apply(SetDrain{NodeId("a"), false, {}}).outcome);
  EXPECT_TRUE(apply(SetDrain{NodeId("a"), false, {}}).outcome.is(Errc::kNotFound));
  EXPECT_TRUE(apply(SetDrain{NodeId("x"), true, {}}).outcome.is(Errc::kNotFound));
  apply(registration("a", 2));
  apply(beat(topology_, "a"));
  EXPECT_EQ(state(topology_, "a"), NodeState::kActive);
}

// R27: copies of watchers differed at the same version.
TEST_F(OperatorCommandsTest, EveryChangeOfADrainHasAVersion) {
  apply(registration("a"));
  const LogTime since = node("a").state_since;
  for (const bool drained : {true, false}) {
    const ApplyResult result = apply(SetDrain{NodeId("a"), drained, {}}, 5);
    ASSERT_EQ(result.events.size(), 1U);
    EXPECT_EQ(result.events[0].node.drain_requested, drained);
    EXPECT_EQ(result.events[0].from, NodeState::kJoining);
    EXPECT_EQ(result.after.value(), result.before.value() + 1);
    EXPECT_EQ(node("a").state_since, since) << "its state has not changed";
  }
  joined("b");
  brought_down("b");
  ASSERT_EQ(apply(SetDrain{NodeId("b"), true, {}}).events.size(), 1U);
  EXPECT_EQ(state(topology_, "b"), NodeState::kDown);
  apply(registration("b", 2));
  apply(beat(topology_, "b"));
  EXPECT_EQ(state(topology_, "b"), NodeState::kDraining);
}

TEST_F(OperatorCommandsTest, DrainsOfNodesThatNeverComeBackAreForgottenOldestFirst) {
  joined("kept");
  apply(SetDrain{NodeId("kept"), true, {}});
  for (std::size_t i = 0; i <= kAbsentDrainsMax; ++i) {
    const std::string id = "n" + std::to_string(i);
    apply(registration(id));
    apply(SetDrain{NodeId(id), true, {}});
    apply(DeregisterNode{NodeId(id), {}, {}});
  }
  EXPECT_EQ(topology_.drains().size(), kAbsentDrainsMax + 1);
  EXPECT_TRUE(topology_.drains().contains(NodeId("kept")));
  EXPECT_FALSE(topology_.drains().contains(NodeId("n0")));
  EXPECT_TRUE(topology_.drains().contains(NodeId("n1")));
}

// R24.
TEST_F(OperatorCommandsTest, WeightsAndRingMustFitTogether) {
  RegisterNode heavy = registration("a");
  heavy.node.weight = 300;
  EXPECT_TRUE(topology_.may_propose(heavy));
  ASSERT_TRUE(apply(heavy).outcome);
  EXPECT_TRUE(topology_.may_propose(SetRingConfig{{3495, 3, {}}, {}}));
  const Status refused = topology_.may_propose(SetRingConfig{{3496, 3, {}}, {}});
  ASSERT_TRUE(refused.is(Errc::kInvalid));
  EXPECT_NE(refused.error().message.find("weight 300"), std::string::npos);
  apply(SetRingConfig{{3495, 3, {}}, {}});
  heavy.node.weight = 301;
  EXPECT_TRUE(topology_.may_propose(heavy).is(Errc::kInvalid));
}

}  // namespace operator_commands_test
}  // namespace muster::membership
