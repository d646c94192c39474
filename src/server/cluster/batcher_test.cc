#include "server/cluster/batcher.h"

#include <gtest/gtest.h>

#include <string>

#include "core/membership/testing.h"

namespace muster::server {
namespace batcher_test {

using membership::NodeState;
using membership::Topology;
using membership::testing::at;
using membership::testing::registration;

const membership::NodeEntry& node(const Topology& topology, const std::string& id) {
  return *topology.find(NodeId(id));
}

TEST(HeartbeatBatcherTest, OneBeatForEachNodeWithWhatItSaidLast) {
  Topology topology;
  topology.apply(registration("a"), at(0));
  topology.apply(registration("b"), at(0));
  HeartbeatBatcher batcher;
  batcher.note(node(topology, "b"), NodeState::kActive);
  batcher.note(node(topology, "a"), NodeState::kActive);
  batcher.note(node(topology, "a"), NodeState::kDraining);
  const auto commands = batcher.take(topology);
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].beats,
            (std::vector<membership::Beat>{{0, NodeState::kDraining}, {1, NodeState::kActive}}));
  EXPECT_TRUE(membership::validate(commands[0]));
  EXPECT_TRUE(batcher.take(topology).empty()) << "a beat counts once";
}

TEST(HeartbeatBatcherTest, ABeatIsNotCreditedToTheNextNodeOfItsSlot) {
  Topology topology;
  topology.apply(registration("a"), at(0));
  HeartbeatBatcher batcher;
  batcher.note(node(topology, "a"), NodeState::kActive);
  topology.apply(membership::DeregisterNode{NodeId("a"), {}, {}}, at(1));
  topology.apply(registration("b"), at(1));
  ASSERT_EQ(node(topology, "b").slot, 0U);
  EXPECT_TRUE(batcher.take(topology).empty());
}

TEST(HeartbeatBatcherTest, ManyNodesMakeSeveralCommands) {
  Topology topology;
  HeartbeatBatcher batcher;
  for (int i = 0; i < 50'001; ++i) {
    const std::string id = "n" + std::to_string(i);
    topology.apply(registration(id), at(0));
    batcher.note(node(topology, id), NodeState::kActive);
  }
  const auto commands = batcher.take(topology);
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[1].beats.size(), 1U);
}

}  // namespace batcher_test
}  // namespace muster::server
