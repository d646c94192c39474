#include "core/routing/movement_plan.h"

#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "base/random.h"

namespace muster {
namespace movement_plan_test {

/// Up to `most` members with random weights; the first always owns something.
std::vector<RingMember> random_members(Random& random, std::uint64_t most) {
  std::vector<RingMember> members;
  const std::uint64_t count = 1 + random.below(most);
  for (std::uint64_t i = 0; i < count; ++i) {
    members.push_back(
        {NodeId("node-" + std::to_string(i)), static_cast<std::uint32_t>(random.below(4))});
  }
  members.front().weight = 1;
  return members;
}

KeyShare sum(const std::vector<KeyShare>& shares) {
  return std::accumulate(shares.begin(), shares.end(), KeyShare{0});
}

TEST(MovementPlanTest, SharesAddUpToTheWholeExactly) {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    const HashRing ring(random_members(random, 30), {});
    ASSERT_TRUE(sum(primary_shares(ring)) == kWholeKeySpace) << "round " << round;
  }
}

TEST(MovementPlanTest, SingleVirtualNodeOwnsEverything) {
  const HashRing ring({{NodeId("a")}}, {.virtual_nodes = 1});
  EXPECT_TRUE(primary_shares(ring)[0] == kWholeKeySpace);
  EXPECT_EQ(to_fraction(kWholeKeySpace), 1.0);
  const MovementPlan plan = movement_plan(HashRing(), ring);
  EXPECT_TRUE(plan.primary_moved == kWholeKeySpace);
  EXPECT_TRUE(plan.nodes[0].primary_gained == kWholeKeySpace);
}

TEST(MovementPlanTest, FirstOfEqualPositionsOwnsAllOfThem) {
  const HashRing ring({{NodeId("b")}, {NodeId("a")}}, {.virtual_nodes = 3},
                      [](const NodeId&, std::uint32_t) -> std::uint64_t { return 42; });
  EXPECT_TRUE(primary_shares(ring)[0] == kWholeKeySpace);
  EXPECT_TRUE(primary_shares(ring)[1] == 0);
  EXPECT_TRUE(movement_plan(HashRing(), ring).nodes[0].primary_gained == kWholeKeySpace);
}

TEST(MovementPlanTest, NothingMovesBetweenEqualRings) {
  const HashRing ring({{NodeId("a")}, {NodeId("b")}}, {});
  const MovementPlan plan = movement_plan(ring, ring);
  EXPECT_TRUE(plan.primary_moved == 0);
  EXPECT_TRUE(plan.copies_moved == 0);
  EXPECT_EQ(plan.nodes.size(), 2u);
  EXPECT_TRUE(movement_plan(HashRing(), HashRing()).nodes.empty());
}

TEST(MovementPlanTest, RemovingOneNodeMovesExactlyItsOwnShare) {
  Random random(12);
  for (int round = 0; round < 100; ++round) {
    std::vector<RingMember> members = random_members(random, 20);
    members.push_back({NodeId("another")});  // Whichever goes, one is left.
    const HashRing before(members, {});
    const std::size_t gone = random.below(before.members().size());
    const NodeId id = before.members()[gone].id;
    std::erase_if(members, [&](const RingMember& member) { return member.id == id; });
    const HashRing after(members, {});

    const MovementPlan plan = movement_plan(before, after);
    const KeyShare share = primary_shares(before)[gone];
    EXPECT_TRUE(plan.primary_moved == share) << "round " << round;
    for (const NodeMovement& node : plan.nodes) {
      EXPECT_TRUE(node.primary_lost == (node.id == id ? share : 0));
      if (node.id == id) {
        EXPECT_TRUE(node.primary_gained == 0);
        EXPECT_TRUE(node.copies_gained == 0);
      } else {
        EXPECT_TRUE(node.copies_lost == 0);
      }
    }
  }
}

TEST(MovementPlanTest, GainsAndLossesExplainTheSharesOfAnyChange) {
  Random random(13);
  for (int round = 0; round < 100; ++round) {
    const HashRing before(random_members(random, 20), {});
    const HashRing after(random_members(random, 20), {});
    const MovementPlan plan = movement_plan(before, after);
    const auto share_of = [](const HashRing& ring, const NodeId& id) {
      const std::vector<KeyShare> shares = primary_shares(ring);
      for (std::size_t i = 0; i < shares.size(); ++i) {
        if (ring.members()[i].id == id) return shares[i];
      }
      return KeyShare{0};
    };
    KeyShare gained = 0;
    KeyShare lost = 0;
    KeyShare copies_gained = 0;
    for (const NodeMovement& node : plan.nodes) {
      gained += node.primary_gained;
      lost += node.primary_lost;
      copies_gained += node.copies_gained;
      ASSERT_TRUE(share_of(before, node.id) + node.primary_gained ==
                  share_of(after, node.id) + node.primary_lost)
          << "round " << round << " " << node.id.value();
    }
    EXPECT_TRUE(gained == plan.primary_moved);
    EXPECT_TRUE(lost == plan.primary_moved);
    EXPECT_TRUE(copies_gained == plan.copies_moved);
    EXPECT_TRUE(plan.primary_moved <= kWholeKeySpace);
  }
}

TEST(MovementPlanTest, ReverseChangeMovesAsMuchBack) {
  Random random(14);
  for (int round = 0; round < 50; ++round) {
    const HashRing a(random_members(random, 20), {});
    const HashRing b(random_members(random, 20), {});
    const MovementPlan there = movement_plan(a, b);
    const MovementPlan back = movement_plan(b, a);
    ASSERT_TRUE(there.primary_moved == back.primary_moved);
    for (std::size_t i = 0; i < there.nodes.size(); ++i) {
      ASSERT_TRUE(there.nodes[i].copies_gained == back.nodes[i].copies_lost);
      ASSERT_TRUE(there.nodes[i].primary_gained == back.nodes[i].primary_lost);
    }
  }
}

TEST(MovementPlanTest, AgreesWithSampledKeys) {
  const HashRing before({{NodeId("a")}, {NodeId("b")}, {NodeId("c")}, {NodeId("d")}}, {});
  const HashRing after({{NodeId("a")}, {NodeId("b")}, {NodeId("c")}, {NodeId("e"), 2}}, {});
  const auto primary = [](const HashRing& ring, std::uint64_t key) {
    return ring.members()[ring.at(key).members[0]].id;
  };
  Random random(15);
  int moved = 0;
  for (int n = 0; n < 100'000; ++n) {
    const std::uint64_t key = random.next();
    if (primary(before, key) != primary(after, key)) ++moved;
  }
  EXPECT_NEAR(moved / 100'000.0, to_fraction(movement_plan(before, after).primary_moved), 0.01);
}

TEST(MovementPlanTest, CopiesFollowTheReplicaSets) {
  // With as many replicas as nodes everybody holds everything, so only the newcomer copies.
  const RingConfig config{.virtual_nodes = 16, .replication = 3};
  const HashRing two({{NodeId("a")}, {NodeId("b")}}, config);
  const HashRing three({{NodeId("a")}, {NodeId("b")}, {NodeId("c")}}, config);
  const MovementPlan plan = movement_plan(two, three);
  EXPECT_TRUE(plan.copies_moved == kWholeKeySpace);
  EXPECT_TRUE(plan.nodes[2].copies_gained == kWholeKeySpace);
  EXPECT_TRUE(plan.nodes[0].copies_lost == 0);
  EXPECT_TRUE(plan.primary_moved == primary_shares(three)[2]);
}

}  // namespace movement_plan_test
}  // namespace muster
