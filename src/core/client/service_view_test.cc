// Views and copies of a topology with nodes of any service.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/client/watch_machine.h"
#include "core/membership/lifecycle.h"

namespace muster::client {
namespace service_view_test {

constexpr MonoTime kNow = MonoTime() + 100s;

Node node(const std::string& id, const std::string& service, NodeState state = NodeState::kActive) {
  membership::NodeSpec named;
  membership::set_service(named, service);
  Node n;
  n.id = NodeId(id);
  n.address = "10.0.0.1";
  n.port = 7000;
  n.type = named.type;
  n.service = named.service;
  n.state = state;
  return n;
}

std::string ids(const Owners& owners) {
  std::string text;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    text += (i == 0 ? "" : ",") + owners[i].id.value();
  }
  return text;
}

std::string ids(const TopologyView& view) {
  std::string text;
  view.for_each([&](const Node& n) { text += (text.empty() ? "" : ",") + n.id.value(); });
  return text;
}

/// The owners on a ring that is built of these members alone.
std::string owners_of(const std::vector<Node>& nodes, const std::string& key, RingConfig config) {
  std::vector<RingMember> members;
  for (const Node& each : nodes) {
    if (membership::in_ring(each.state)) members.push_back({each.id, each.weight});
  }
  const HashRing ring(std::move(members), config);
  std::string text;
  for (const std::uint32_t member : ring.lookup(key).members) {
    text += (text.empty() ? "" : ",") + ring.members()[member].id.value();
  }
  return text;
}

const std::vector<std::string> kServices = {"object", "frontend", "search", "queue"};

/// Whether all rings of the view are those that are built of its nodes.
void expect_rings(const TopologyView& view, Random& random) {
  std::vector<Node> typed;
  std::map<std::string, std::vector<Node>> by_service;
  view.for_each([&](const Node& n) {
    if (n.service.empty()) typed.push_back(n);
    by_service[std::string(service_of(n))].push_back(n);
  });
  for (int i = 0; i < 4; ++i) {
    const std::string key = std::to_string(random.next());
    EXPECT_EQ(ids(view.owners(key)), owners_of(typed, key, view.ring()));
    for (const std::string& service : kServices) {
      EXPECT_EQ(ids(view.owners(key, service)), owners_of(by_service[service], key, view.ring()))
          << service;
    }
  }
}

TEST(ServiceViewTest, EachServiceHasARingOfItsOwnAndTheOldRingIsAsEver) {
  Random random(7);
  TopologyImage image;
  image.version = TopologyVersion(1);
  for (int i = 0; i < 12; ++i) {
    image.nodes.push_back(node("n" + std::to_string(i), kServices[random.below(4)]));
    image.nodes.back().weight = 1 + static_cast<std::uint32_t>(random.below(3));
  }
  TopologyCache cache(ServiceFilter::all());
  ASSERT_TRUE(cache.apply({image.version, {}, FullSync{image}}));
  std::uint64_t version = 1;
  for (int step = 0; step < 400; ++step) {
    expect_rings(*cache.view(), random);
    const Node changed =
        node("n" + std::to_string(random.below(16)), kServices[random.below(4)],
             random.chance(0.7) ? NodeState::kActive : static_cast<NodeState>(random.below(6)));
    const bool known = cache.view()->find(changed.id.value()) != nullptr;
    TopologyUpdate update{TopologyVersion(version + 1), TopologyVersion(version),
                          NodeUpdated{changed}};
    if (known && random.chance(0.3)) update.what = NodeRemoved{changed};
    if (random.chance(0.02)) {
      update.what = RingChanged{{8 + static_cast<std::uint32_t>(random.below(9)), 2}};
    }
    ASSERT_TRUE(cache.apply(update));
    ++version;
    if (::testing::Test::HasFailure()) FAIL() << "step " << step;
  }
}

TEST(ServiceViewTest, AServiceWithoutNodesHasNoOwners) {
  TopologyImage image;
  image.nodes = {node("a", "search")};
  const TopologyView view(image, ServiceFilter::all());
  EXPECT_TRUE(view.owners("key").empty());
  EXPECT_TRUE(view.owners("key", "queue").empty());
  EXPECT_TRUE(view.owners("key", "queue").degraded());
  EXPECT_EQ(ids(view.owners("key", "search")), "a");
}

TEST(ServiceViewTest, AViewOfOneServiceHasItsRing) {
  TopologyImage image;
  image.nodes = {node("a", "search"), node("b", "object"), node("c", "frontend")};
  const TopologyView search(image, *ServiceFilter::parse("search"));
  EXPECT_EQ(ids(search), "a");
  EXPECT_EQ(ids(search.owners("key")), "a");
  EXPECT_EQ(ids(search.owners("key", "search")), "a");
  EXPECT_TRUE(search.owners("key", "object").empty());
  const TopologyView object(image, *ServiceFilter::parse("object"));
  EXPECT_EQ(ids(object.owners("key")), "b");
  EXPECT_EQ(ids(TopologyView(image)), "b,c") << "what a client of 0.1 has";
}

/// A watch of "search" that gets everything, as servers that know no services send it.
class NarrowedWatchTest : public ::testing::Test {
 protected:
  NarrowedWatchTest() {
    WatchConfig config;
    config.services = *ServiceFilter::parse("search");
    machine_.emplace(config, Random(1));
    (void)machine_->begin(kNow);
    TopologyImage image;
    image.version = TopologyVersion(1);
    image.nodes = {node("a", "search"), node("b", "object")};
    send(FullSync{image}, 1, 0);
  }
  template <typename What>
  bool send(What what, std::uint64_t version, std::uint64_t previous) {
    return machine_->receive({TopologyVersion(version), TopologyVersion(previous), std::move(what)},
                             kNow, events_);
  }
  std::string told() {
    std::string text;
    for (const WatchEvent& event : events_) {
      text += (text.empty() ? "" : ", ") + std::string(to_string(event.kind)) + " " +
              event.node.id.value();
    }
    events_.clear();
    return text;
  }
  std::uint64_t version() const { return machine_->cache().version().value(); }

  std::optional<WatchMachine> machine_;
  std::vector<WatchEvent> events_;
};

TEST_F(NarrowedWatchTest, NodesOfOtherServicesAreLeftOut) {
  EXPECT_EQ(told(), "snapshot ");
  EXPECT_EQ(ids(*machine_->cache().view()), "a");
  ASSERT_TRUE(send(NodeAdded{node("c", "object")}, 2, 1));
  ASSERT_TRUE(send(NodeUpdated{node("b", "object", NodeState::kDown)}, 3, 2));
  ASSERT_TRUE(send(NodeRemoved{node("b", "object")}, 4, 3));
  EXPECT_EQ(told(), "");
  EXPECT_EQ(version(), 4U) << "the next change continues from there";
  ASSERT_TRUE(send(NodeAdded{node("d", "search")}, 5, 4));
  EXPECT_EQ(told(), "node_added d");
}

TEST_F(NarrowedWatchTest, ANodeEntersAndLeavesTheService) {
  (void)told();
  ASSERT_TRUE(send(NodeUpdated{node("b", "search")}, 2, 1));
  ASSERT_TRUE(send(NodeUpdated{node("a", "queue")}, 3, 2));
  EXPECT_EQ(told(), "node_added b, node_removed a");
  EXPECT_EQ(ids(*machine_->cache().view()), "b");
}

TEST_F(NarrowedWatchTest, AKeepaliveLeadsToALaterVersionAndAGapInItIsSeen) {
  ASSERT_TRUE(send(Keepalive{}, 7, 1));
  EXPECT_EQ(version(), 7U);
  EXPECT_EQ(machine_->begin(kNow), TopologyVersion(7)) << "it returns with that";
  ASSERT_TRUE(send(NodeAdded{node("c", "search")}, 9, 7));
  ASSERT_TRUE(send(Keepalive{}, 9, 9));
  EXPECT_FALSE(send(Keepalive{}, 12, 11)) << "something between 9 and 11 is missing";
}

}  // namespace service_view_test
}  // namespace muster::client
