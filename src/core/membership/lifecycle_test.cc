#include "core/membership/lifecycle.h"

#include <gtest/gtest.h>

namespace muster::membership {
namespace lifecycle_test {

using enum NodeState;

// T19: SUSPECT was left out of the ring and DRAINING kept in.
TEST(LifecycleTest, TheRingHoldsActiveAndSuspectNodesOnly) {
  EXPECT_TRUE(in_ring(kActive));
  EXPECT_TRUE(in_ring(kSuspect));
  for (const NodeState state : {kUnknown, kJoining, kDraining, kDown}) {
    EXPECT_FALSE(in_ring(state)) << to_string(state);
  }
}

TEST(LifecycleTest, AHeartbeatMovesANodeAsTheStateTableSays) {
  struct Row {
    NodeState from;
    NodeState reported;
    bool drain_requested;
    NodeState to;
  };
  const Row rows[] = {
      {kJoining, kUnknown, false, kActive},     {kJoining, kActive, false, kActive},
      {kJoining, kJoining, false, kJoining},    {kJoining, kDraining, false, kDraining},
      {kJoining, kActive, true, kDraining},     {kActive, kUnknown, false, kActive},
      {kActive, kActive, false, kActive},       {kActive, kJoining, false, kActive},
      {kActive, kDraining, false, kDraining},   {kActive, kActive, true, kDraining},
      {kSuspect, kUnknown, false, kActive},     {kSuspect, kActive, false, kActive},
      {kSuspect, kDraining, false, kDraining},  {kDraining, kUnknown, false, kDraining},
      {kDraining, kDraining, false, kDraining}, {kDraining, kActive, false, kActive},
      {kDraining, kActive, true, kDraining},    {kDown, kActive, false, kDown},
      {kDown, kDraining, false, kDown},
  };
  for (const Row& row : rows) {
    NodeEntry node;
    node.state = row.from;
    node.drain_requested = row.drain_requested;
    EXPECT_EQ(after_heartbeat(node, row.reported), row.to)
        << to_string(row.from) << " reporting " << to_string(row.reported);
  }
}

TEST(LifecycleTest, SilenceMakesActiveSuspectAndSuspectOrDrainingDown) {
  for (const NodeState state : {kUnknown, kActive, kJoining, kDraining, kDown, kSuspect}) {
    EXPECT_EQ(may_become_suspect(state), state == kActive) << to_string(state);
    EXPECT_EQ(may_become_down(state), state == kSuspect || state == kDraining) << to_string(state);
  }
}

TEST(LifecycleTest, NamesAreThoseOfTheWireContract) {
  EXPECT_STREQ(to_string(kDraining), "DRAINING");
  EXPECT_STREQ(to_string(NodeType::kFrontend), "FRONTEND");
  EXPECT_STREQ(to_string(static_cast<NodeState>(9)), "UNKNOWN");
  EXPECT_STREQ(to_string(static_cast<NodeType>(9)), "UNKNOWN");
  EXPECT_EQ(static_cast<int>(kSuspect), 5);
  EXPECT_EQ(static_cast<int>(NodeType::kObject), 3);
}

// P26: what a server of 0.1 made of a clock that ran away must not count as years of silence.
TEST(LifecycleTest, LogAgeIsBoundedBothWays) {
  const auto at = [](std::int64_t ms) { return log_time_from_ms(ms); };
  EXPECT_EQ(log_age(at(5000), at(2000), 45s), 3s);
  EXPECT_EQ(log_age(at(2000), at(5000), 45s), 0s);
  EXPECT_EQ(log_age(at(3'600'000), at(0), 45s), 45s);
  EXPECT_EQ(log_age(at(INT64_MAX), at(INT64_MIN), 45s), 45s);
}

TEST(LifecycleTest, EndpointsOfIpv6AddressesHaveBrackets) {
  NodeSpec node;
  node.port = 9000;
  node.address = "10.0.0.1";
  EXPECT_EQ(endpoint(node), "10.0.0.1:9000");
  node.address = "::1";
  EXPECT_EQ(endpoint(node), "[::1]:9000");
}

}  // namespace lifecycle_test
}  // namespace muster::membership
