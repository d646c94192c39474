#include "core/routing/hash_ring.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace muster {
namespace hash_ring_test {

using ::testing::ElementsAre;

/// node-1 … node-n.
std::vector<RingMember> nodes(int n) {
  std::vector<RingMember> members;
  for (int i = 1; i <= n; ++i) members.push_back({NodeId("node-" + std::to_string(i))});
  return members;
}

std::vector<std::string> names(const HashRing& ring, const Placement& placement) {
  std::vector<std::string> names;
  for (const std::uint32_t i : placement.members) names.push_back(ring.members()[i].id.value());
  return names;
}

using Point = std::pair<std::uint64_t, std::string>;

std::vector<Point> points_of(const std::vector<RingMember>& members, std::uint32_t virtual_nodes) {
  std::vector<Point> points;
  for (const RingMember& member : members) {
    for (std::uint32_t i = 0; i < virtual_nodes * member.weight; ++i) {
      points.emplace_back(virtual_node_position(member.id, i), member.id.value());
    }
  }
  return points;
}

/// What the ring must answer, found the slow way: of all points the nearest whose member is not
/// there already, again and again.
std::vector<std::string> walk(const std::vector<Point>& points, std::uint32_t replication,
                              std::uint64_t key) {
  // Clockwise distance from the key, by unsigned wrap-around.
  const auto nearer = [key](const Point& a, const Point& b) {
    return a.first == b.first ? a.second < b.second : a.first - key < b.first - key;
  };
  std::vector<std::string> holders;
  while (holders.size() < replication) {
    const Point* nearest = nullptr;
    for (const Point& point : points) {
      if (nearest != nullptr && !nearer(point, *nearest)) continue;
      if (std::find(holders.begin(), holders.end(), point.second) == holders.end()) {
        nearest = &point;
      }
    }
    if (nearest == nullptr) break;
    holders.push_back(nearest->second);
  }
  return holders;
}

TEST(HashRingTest, PositionsMatchThePublishedVectors) {
  EXPECT_EQ(virtual_node_position(NodeId("node-1"), 0), 17812145317799502739u);
  EXPECT_EQ(virtual_node_position(NodeId("node-1"), 1), 5774912827682346238u);
  EXPECT_EQ(virtual_node_position(NodeId("node-2"), 0), 6429045902768977897u);
  EXPECT_EQ(key_position("hello"), 1054880662928880172u);
}

TEST(HashRingTest, PlacementMatchesThePublishedVector) {
  const HashRing ring(nodes(3), {});
  const Placement placement = ring.lookup("hello");
  EXPECT_THAT(names(ring, placement), ElementsAre("node-1", "node-3", "node-2"));
  EXPECT_FALSE(placement.degraded);
}

TEST(HashRingTest, AgreesWithTheSlowWalkForAnyMembers) {
  Random random(7);
  for (int round = 0; round < 25; ++round) {
    std::vector<RingMember> members = nodes(static_cast<int>(1 + random.below(12)));
    for (RingMember& member : members) {
      member.weight = static_cast<std::uint32_t>(random.below(4));
    }
    members.front().weight = 1;
    const RingConfig config{.virtual_nodes = static_cast<std::uint32_t>(1 + random.below(20)),
                            .replication = static_cast<std::uint32_t>(1 + random.below(5))};
    const HashRing ring(members, config);
    const std::vector<Point> points = points_of(members, config.virtual_nodes);
    std::vector<std::uint64_t> keys{0, 1, UINT64_MAX, UINT64_MAX - 1, std::uint64_t{1} << 63};
    for (int n = 0; n < 10; ++n) keys.push_back(random.next());
    for (const std::uint64_t position : ring.positions()) {
      keys.insert(keys.end(), {position - 1, position, position + 1});
    }
    for (const std::uint64_t key : keys) {
      ASSERT_EQ(names(ring, ring.at(key)), walk(points, config.replication, key))
          << "round " << round << " key " << key;
    }
  }
}

TEST(HashRingTest, OrderOfMembersDoesNotMatter) {
  std::vector<RingMember> members = nodes(20);
  const HashRing ring(members, {});
  std::reverse(members.begin(), members.end());
  const HashRing reversed(members, {});
  Random random(3);
  for (int n = 0; n < 1000; ++n) {
    const std::uint64_t key = random.next();
    ASSERT_EQ(names(ring, ring.at(key)), names(reversed, reversed.at(key)));
  }
}

TEST(HashRingTest, ReplicasAreDistinct) {
  const HashRing ring(nodes(5), {});
  for (std::size_t i = 0; i < ring.positions().size(); ++i) {
    std::vector<std::string> holders = names(ring, ring.placement(i));
    ASSERT_EQ(holders.size(), 3u);
    std::sort(holders.begin(), holders.end());
    ASSERT_EQ(std::unique(holders.begin(), holders.end()), holders.end());
  }
}

// T20: too few nodes is a degraded answer, not an error.
TEST(HashRingTest, FewerNodesThanReplicasIsADegradedAnswer) {
  const HashRing two(nodes(2), {});
  EXPECT_EQ(two.lookup("hello").members.size(), 2u);
  EXPECT_TRUE(two.lookup("hello").degraded);
  const HashRing one(nodes(1), {});
  EXPECT_THAT(names(one, one.lookup("hello")), ElementsAre("node-1"));
  EXPECT_TRUE(one.lookup("hello").degraded);
  const HashRing none;
  EXPECT_TRUE(none.lookup("hello").members.empty());
  EXPECT_TRUE(none.lookup("hello").degraded);
}

// T19: a suspect node keeps its place, and the answer shows that it is suspect.
TEST(HashRingTest, SuspectMemberStaysAndIsFlagged) {
  std::vector<RingMember> members = nodes(3);
  members[2].suspect = true;
  const HashRing ring(members, {});
  const Placement placement = ring.lookup("hello");
  EXPECT_THAT(names(ring, placement), ElementsAre("node-1", "node-3", "node-2"));
  EXPECT_FALSE(ring.members()[placement.members[0]].suspect);
  EXPECT_TRUE(ring.members()[placement.members[1]].suspect);
}

TEST(HashRingTest, WeightMultipliesVirtualNodes) {
  std::vector<RingMember> members = nodes(3);
  members[0].weight = 3;
  members[1].weight = 0;
  const HashRing ring(members, {});
  EXPECT_EQ(ring.positions().size(), 16u * 4);
  for (std::size_t i = 0; i < ring.positions().size(); ++i) {
    EXPECT_THAT(names(ring, ring.placement(i)), ::testing::Not(::testing::Contains("node-2")));
  }
  EXPECT_TRUE(ring.lookup("hello").degraded);
}

TEST(HashRingTest, OnlyWeightlessMembersOwnNothing) {
  const HashRing ring({{NodeId("a"), 0}}, {});
  EXPECT_TRUE(ring.lookup("hello").members.empty());
  EXPECT_TRUE(ring.lookup("hello").degraded);
}

TEST(HashRingTest, EqualPositionsAreOrderedByNodeId) {
  const HashRing ring(
      {{NodeId("c")}, {NodeId("a")}, {NodeId("b")}}, {.virtual_nodes = 2},
      [](const NodeId&, std::uint32_t index) -> std::uint64_t { return 1000 * (index + 1); });
  for (const std::uint64_t key : {0u, 999u, 1000u, 1001u, 2000u, 2001u}) {
    EXPECT_THAT(names(ring, ring.at(key)), ElementsAre("a", "b", "c")) << key;
  }
}

TEST(HashRingTest, CrowdedPositionsAreStillFound) {
  // All virtual nodes share one entry of the index.
  const HashRing ring(nodes(50), {.virtual_nodes = 4, .replication = 1},
                      [](const NodeId& id, std::uint32_t index) -> std::uint64_t {
                        return 10 * (std::stoull(id.value().substr(5)) * 4 + index);
                      });
  for (int node = 1; node <= 50; ++node) {
    for (std::uint64_t index = 0; index < 4; ++index) {
      const std::uint64_t position = 10 * (static_cast<std::uint64_t>(node) * 4 + index);
      const auto expected = ElementsAre("node-" + std::to_string(node));
      EXPECT_THAT(names(ring, ring.at(position)), expected);
      EXPECT_THAT(names(ring, ring.at(position - 9)), expected);
    }
  }
  EXPECT_THAT(names(ring, ring.at(UINT64_MAX)), ElementsAre("node-1"));
}

// R24: weight × virtual nodes above 2^20 ended the process.
TEST(HashRingTest, AMemberHasAtMostAMillionVirtualNodesWhateverItsWeight) {
  EXPECT_EQ(HashRing::virtual_nodes_of(3, {16, 1}), 48U);
  EXPECT_EQ(HashRing::virtual_nodes_of(1000, {4096, 1}), HashRing::kVirtualNodesMax);
  EXPECT_EQ(HashRing::virtual_nodes_of(UINT32_MAX, {UINT32_MAX, 1}), HashRing::kVirtualNodesMax);
  const auto position = [](const NodeId&, std::uint32_t index) { return std::uint64_t{index}; };
  const HashRing ring({{NodeId("a"), UINT32_MAX}}, {4096, 3}, position);
  EXPECT_EQ(ring.positions().size(), HashRing::kVirtualNodesMax);
}

TEST(HashRingDeathTest, RefusesTwoMembersOfOneId) {
  EXPECT_DEATH(HashRing({{NodeId("a")}, {NodeId("a")}}, {}), "CHECK failed");
}

}  // namespace hash_ring_test
}  // namespace muster
