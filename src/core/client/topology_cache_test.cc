#include "core/client/topology_cache.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/membership/lifecycle.h"

namespace muster::client {
namespace topology_cache_test {

Node node(const std::string& id, NodeState state = NodeState::kActive) {
  Node n;
  n.id = NodeId(id);
  n.address = "10.0.0.1";
  n.port = 7000;
  n.type = NodeType::kObject;
  n.state = state;
  return n;
}

/// Numbers updates as a server does.
class Server {
 public:
  template <typename What>
  TopologyUpdate next(What what) {
    const TopologyVersion previous = version_;
    version_ = TopologyVersion(version_.value() + 1);
    return {version_, previous, std::move(what)};
  }

 private:
  TopologyVersion version_;
};

std::vector<Node> nodes(const TopologyView& view) {
  std::vector<Node> all;
  view.for_each([&](const Node& n) { all.push_back(n); });
  return all;
}

// T18: the cache follows every event, not only full syncs.
TEST(TopologyCacheTest, FollowsEveryEvent) {
  Server server;
  TopologyCache cache;
  ASSERT_TRUE(cache.apply(server.next(NodeAdded{node("a", NodeState::kJoining)})));
  EXPECT_EQ(cache.view()->find("a")->state, NodeState::kJoining);
  EXPECT_EQ(cache.view()->ring_size(), 0U);
  ASSERT_TRUE(cache.apply(server.next(NodeUpdated{node("a")})));
  EXPECT_EQ(cache.view()->ring_size(), 1U);
  ASSERT_TRUE(cache.apply(server.next(RingChanged{{8, 2}})));
  EXPECT_EQ(cache.view()->ring().replication, 2U);
  ASSERT_TRUE(cache.apply(server.next(NodeRemoved{node("a")})));
  EXPECT_EQ(cache.view()->find("a"), nullptr);
  EXPECT_EQ(cache.view()->size(), 0U);
  EXPECT_EQ(cache.version(), TopologyVersion(4));
}

TEST(TopologyCacheTest, AGapIsRefusedAndChangesNothing) {
  Server server;
  TopologyCache cache;
  ASSERT_TRUE(cache.apply(server.next(NodeAdded{node("a")})));
  (void)server.next(NodeAdded{node("lost")});
  EXPECT_TRUE(cache.apply(server.next(NodeAdded{node("b")})).is(Errc::kConflict));
  EXPECT_EQ(cache.view()->find("b"), nullptr);
  EXPECT_EQ(cache.version(), TopologyVersion(1));
}

TEST(TopologyCacheTest, AKindOfANewerServerIsRefused) {
  Server server;
  TopologyCache cache;
  EXPECT_TRUE(cache.apply(server.next(Foreign{})).is(Errc::kUnsupported));
  EXPECT_EQ(cache.version(), TopologyVersion(0));
}

TEST(TopologyCacheTest, KeepaliveAndLaggedChangeNothing) {
  TopologyCache cache;
  EXPECT_TRUE(cache.apply({TopologyVersion(9), TopologyVersion(9), Keepalive{}}));
  EXPECT_TRUE(cache.apply({TopologyVersion(9), TopologyVersion(9), Lagged{}}));
  EXPECT_EQ(cache.version(), TopologyVersion(0));
}

TEST(TopologyCacheTest, ViewsThatWereHandedOutStayAsTheyWere) {
  Server server;
  TopologyCache cache;
  ASSERT_TRUE(cache.apply(server.next(NodeAdded{node("a")})));
  const auto before = cache.view();
  ASSERT_TRUE(cache.apply(server.next(NodeRemoved{node("a")})));
  ASSERT_TRUE(cache.apply(server.next(NodeAdded{node("b")})));
  ASSERT_NE(before->find("a"), nullptr);
  EXPECT_EQ(before->find("b"), nullptr);
  EXPECT_EQ(before->owners("key")[0].id, NodeId("a"));
}

// T19, T20: who is in the ring, and what fewer nodes than replicas give.
TEST(TopologyCacheTest, OwnersAreThoseOfTheRingAndSayWhenTheyAreTooFew) {
  TopologyImage image;
  image.version = TopologyVersion(5);
  image.nodes = {node("node-1"),
                 node("node-2", NodeState::kSuspect),
                 node("node-3"),
                 node("node-4", NodeState::kDraining),
                 node("node-5", NodeState::kDown),
                 node("node-6", NodeState::kJoining)};
  TopologyCache cache;
  ASSERT_TRUE(cache.apply({image.version, TopologyVersion(0), FullSync{image}}));
  const Owners owners = cache.view()->owners("hello");
  ASSERT_EQ(owners.size(), 3U);
  EXPECT_FALSE(owners.degraded());
  EXPECT_EQ(owners[0].id, NodeId("node-1"));
  EXPECT_EQ(owners[1].id, NodeId("node-3"));
  EXPECT_EQ(owners[2].id, NodeId("node-2"));
  EXPECT_EQ(owners[2].state, NodeState::kSuspect);
  ASSERT_TRUE(cache.apply(
      {TopologyVersion(6), TopologyVersion(5), NodeUpdated{node("node-3", NodeState::kDown)}}));
  EXPECT_EQ(cache.view()->owners("hello").size(), 2U);
  EXPECT_TRUE(cache.view()->owners("hello").degraded());
}

/// The model: a map of the same nodes, and a ring built anew.
class Model {
 public:
  void put(const Node& n) { nodes_[n.id.value()] = n; }
  void erase(const std::string& id) { nodes_.erase(id); }
  [[nodiscard]] bool has(const std::string& id) const { return nodes_.contains(id); }
  void expect_equal(const TopologyView& view, Random& random) const {
    std::vector<Node> expected;
    std::vector<RingMember> members;
    for (const auto& [id, n] : nodes_) {
      expected.push_back(n);
      if (membership::in_ring(n.state)) members.push_back({n.id, n.weight});
    }
    EXPECT_EQ(nodes(view), expected);
    const HashRing ring(members, view.ring());
    const std::uint64_t position = random.next();
    const auto placement = ring.at(position);
    const Owners owners = view.owners_at(position);
    ASSERT_EQ(owners.size(), placement.members.size());
    EXPECT_EQ(owners.degraded(), placement.degraded);
    for (std::size_t i = 0; i < owners.size(); ++i) {
      EXPECT_EQ(owners[i].id, ring.members()[placement.members[i]].id);
    }
  }

 private:
  std::map<std::string, Node> nodes_;
};

TEST(TopologyCacheTest, EqualsAPlainModelAfterAnyHistory) {
  Random random(5);
  Server server;
  TopologyCache cache;
  Model model;
  constexpr NodeState kStates[] = {NodeState::kActive, NodeState::kJoining, NodeState::kDraining,
                                   NodeState::kDown, NodeState::kSuspect};
  for (int step = 0; step < 3000; ++step) {
    Node n = node("n" + std::to_string(random.below(300)), kStates[random.below(5)]);
    n.weight = static_cast<std::uint32_t>(1 + random.below(3));
    const std::string& id = n.id.value();
    if (!model.has(id)) {
      ASSERT_TRUE(cache.apply(server.next(NodeAdded{n})));
      model.put(n);
    } else if (random.chance(0.4)) {
      ASSERT_TRUE(cache.apply(server.next(NodeRemoved{n})));
      model.erase(id);
    } else {
      ASSERT_TRUE(cache.apply(server.next(NodeUpdated{n})));
      model.put(n);
    }
    if (step % 20 == 0) model.expect_equal(*cache.view(), random);
  }
  // A full sync of the same nodes is the same topology.
  TopologyImage image{cache.version(), nodes(*cache.view()), cache.view()->ring(), {}, {}};
  ASSERT_TRUE(cache.apply({cache.version(), TopologyVersion(0), FullSync{image}}));
  model.expect_equal(*cache.view(), random);
}

TEST(TopologyCacheTest, AbsurdNumbersFromOutsideDoNotEndTheProcess) {
  TopologyImage image;
  image.ring = {0, 0};
  image.nodes = {node("a"), node("a"), node("b")};
  image.nodes[2].weight = UINT32_MAX;
  image.nodes[0].weight = image.nodes[1].weight = 0;
  const TopologyView view(image);
  EXPECT_EQ(view.size(), 2U);
  ASSERT_EQ(view.owners("key").size(), 1U);
  EXPECT_EQ(view.owners("key")[0].id, NodeId("b"));
}

}  // namespace topology_cache_test
}  // namespace muster::client
