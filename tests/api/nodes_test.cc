#include "tests/support/musterd_cluster.h"
// Before the public names.
#include "tests/api/scene.h"

#include <muster/fence.h>
#include <muster/nodes.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <vector>

namespace api_test {

using muster::Cluster;
using muster::Directory;
using muster::DirectoryOptions;
using muster::FencedObjects;
using muster::Membership;
using muster::MembershipOptions;
using muster::Node;
using muster::View;
using muster::testing::MusterdCluster;

Node node_of(const std::string& id) {
  Node node;
  node.id = id;
  node.address = "10.0.0.7";
  node.port = 7000;
  return node;
}

TEST(PublicNodesTest, ANodeOfAnyServiceIsFoundByThoseWhoFollowIt) {
  const MusterdCluster servers;
  const Cluster cluster = Cluster::connect(servers.endpoints()).value();
  Node queue = node_of("q1");
  queue.service = "queue";
  queue.tags = {{"zone", "b"}};
  const Membership one = Membership::join(cluster, queue).value();
  const Membership two = Membership::join(cluster, node_of("o1")).value();
  const auto following = [&](const std::string& service) {
    DirectoryOptions options;
    options.service = service;
    return Directory::follow(cluster, options).value();
  };
  const View queues = following("queue").view();
  ASSERT_EQ(queues.size(), 1u);
  EXPECT_EQ(queues.nodes()[0].service, "queue");
  EXPECT_EQ(queues.nodes()[0].kind, muster::NodeKind::kUnknown);
  EXPECT_EQ(queues.nodes()[0].tags.at("zone"), "b");
  EXPECT_EQ(queues.owners("key").at(0).id, "q1");
  const View all = following("*").view();
  EXPECT_EQ(all.size(), 2u);
  EXPECT_EQ(all.owners("key").at(0).id, "o1") << "the ring of the kinds";
  EXPECT_EQ(all.owners_of("queue", "key").at(0).id, "q1");
  EXPECT_EQ(all.owners_of("object", "key").at(0).id, "o1");
  EXPECT_TRUE(all.owners_of("search", "key").empty());
  const View kinds = following("").view();
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_EQ(kinds.nodes()[0].service, "object");
  DirectoryOptions wrong;
  wrong.service = "Queue";
  EXPECT_EQ(Directory::follow(cluster, wrong).error().code, muster::Code::kInvalid);
  Node bad = node_of("b1");
  bad.service = "Queue";
  EXPECT_EQ(Membership::join(cluster, bad).error().code, muster::Code::kInvalid);
}

TEST(PublicNodesTest, WhoJoinsIsFoundByEverybodyAndLeavesInOrder) {
  const MusterdCluster servers;
  const Cluster cluster = Cluster::connect(servers.endpoints()).value();
  Heard<std::size_t> sizes;
  DirectoryOptions following;
  // A node is in before it is active.
  following.on_change = [&](const View& view) {
    const auto nodes = view.nodes();
    const auto active = [](const Node& node) { return node.state == muster::NodeState::kActive; };
    const auto count = std::count_if(nodes.begin(), nodes.end(), active);
    sizes.add(static_cast<std::size_t>(count));
  };
  const Directory directory = Directory::follow(cluster, following).value();
  EXPECT_EQ(directory.view().size(), 0u);
  {
    const Membership one = Membership::join(cluster, node_of("n1")).value();
    const Membership two =
        Membership::join(Cluster::connect(servers.endpoints()).value(), node_of("n2")).value();
    ASSERT_TRUE(sizes.wait_for([](std::size_t size) { return size == 2; }));
    const View view = directory.view();
    ASSERT_EQ(view.nodes().size(), 2u);
    EXPECT_EQ(view.nodes()[0].id, "n1");
    EXPECT_EQ(view.nodes()[1].address, "10.0.0.7");
    EXPECT_EQ(view.nodes()[1].port, 7000);
    EXPECT_EQ(view.nodes()[1].state, muster::NodeState::kActive);
    EXPECT_EQ(view.find("n2")->id, "n2");
    EXPECT_FALSE(view.find("n3"));
    EXPECT_EQ(view.owners("a key").size(), 2u);
    EXPECT_EQ(view.owners("a key", 1)[0].id, view.owners("a key")[0].id);
    EXPECT_EQ(view.owners("a key", 0).size(), 0u);
    EXPECT_TRUE(Membership::join(cluster, node_of("n1")).is(Code::kConflict));
  }
  EXPECT_TRUE(sizes.wait_for([&, seen = std::size_t{0}](std::size_t size) mutable {
    seen = std::max(seen, size);
    return seen == 2 && size == 0;
  }));
  Membership again = Membership::join(cluster, node_of("n1")).value();
  EXPECT_TRUE(again.drain().ok());
  EXPECT_TRUE(again.leave().ok());
}

TEST(PublicNodesTest, WhoeverTakesANodesPlaceEndsTheOtherMembership) {
  const MusterdCluster servers;
  Heard<Code> troubles;
  MembershipOptions options;
  options.on_trouble = [&](const muster::Error& error) { troubles.add(error.code); };
  const Cluster cluster = Cluster::connect(servers.endpoints()).value();
  const Membership first = Membership::join(cluster, node_of("n1"), options).value();
  const Membership second =
      Membership::join(Cluster::connect(servers.endpoints()).value(), node_of("n1")).value();
  EXPECT_TRUE(troubles.wait_for([](Code code) { return code == Code::kConflict; }));
}

TEST(PublicNodesTest, NobodyWaitsForEverForServersThatAreNotThere) {
  const Cluster cluster = Cluster::connect("127.0.0.1:1").value();
  MembershipOptions joining;
  joining.wait = 300ms;
  const auto joined = Membership::join(cluster, node_of("n1"), joining);
  EXPECT_TRUE(joined.is(Code::kTimeout)) << joined.message();
  DirectoryOptions following;
  following.wait = 300ms;
  EXPECT_TRUE(Directory::follow(cluster, following).is(Code::kTimeout));
  EXPECT_TRUE(Cluster::connect("no port").is(Code::kInvalid));
  Node bad = node_of("n1");
  bad.id = "";
  EXPECT_TRUE(Membership::join(cluster, bad).is(Code::kInvalid));
}

TEST(PublicNodesTest, HandlesMayBeDestroyedInAnyOrder) {
  const MusterdCluster servers;
  std::vector<int> order = {0, 1, 2};
  do {
    auto cluster = std::make_unique<Cluster>(Cluster::connect(servers.endpoints()).value());
    auto member = std::make_unique<Membership>(Membership::join(*cluster, node_of("n1")).value());
    auto directory = std::make_unique<Directory>(Directory::follow(*cluster).value());
    const View view = directory->view();
    for (const int which : order) {
      if (which == 0) cluster.reset();
      if (which == 1) member.reset();
      if (which == 2) directory.reset();
    }
    // As join() promises: a later copy does not show the node before it was active.
    EXPECT_EQ(view.find("n1")->state, muster::NodeState::kActive);
    // This one, and the one that ends what a callback has ended.
    EXPECT_TRUE(threads_fall_to(2)) << threads();
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(PublicNodesTest, ACallbackMayEndWhatCalledIt) {
  const MusterdCluster servers;
  std::mutex made;
  std::optional<Directory> directory;
  std::optional<Membership> member;
  std::promise<Code> refused;
  bool done = false;
  {
    const std::lock_guard lock(made);
    const Cluster cluster = Cluster::connect(servers.endpoints()).value();
    DirectoryOptions options;
    options.on_change = [&](const View&) {
      const std::lock_guard here(made);
      if (done || !member) return;
      done = true;
      const Code code = member->leave().code();
      member.reset();
      directory.reset();
      refused.set_value(code);
    };
    directory.emplace(Directory::follow(cluster, options).value());
    member.emplace(Membership::join(cluster, node_of("n1")).value());
  }
  EXPECT_EQ(refused.get_future().get(), Code::kInvalid);
  // It left in the background, so the place is free for another process.
  Heard<std::size_t> sizes;
  DirectoryOptions options;
  options.on_change = [&](const View& view) { sizes.add(view.size()); };
  const Cluster other = Cluster::connect(servers.endpoints()).value();
  const Directory watching = Directory::follow(other, options).value();
  EXPECT_TRUE(sizes.wait_for([](std::size_t size) { return size == 0; }));
}

TEST(PublicFenceTest, ATokenBelowTheHighestIsRefused) {
  muster::EpochGuard guard(3);
  EXPECT_TRUE(guard.admit(3));
  EXPECT_TRUE(guard.admit(7));
  EXPECT_FALSE(guard.admit(6));
  EXPECT_EQ(guard.highest(), 7u);
  EXPECT_EQ(guard.refused(), 1u);
}

TEST(PublicFenceTest, ObjectsRefuseLeadersThatWereReplaced) {
  const TempDir dir;
  std::optional<Arbiter> arbiter = Arbiter::open(url_of(dir)).value();
  const FencedObjects objects(*arbiter);
  arbiter.reset();
  EXPECT_TRUE(objects.get("totals/day").is(Code::kNotFound));
  EXPECT_TRUE(objects.put("totals/day", "41", 4).ok());
  EXPECT_TRUE(objects.put("totals/day", "42", 5).ok());
  EXPECT_TRUE(objects.put("totals/day", "40", 4).is(Code::kDenied));
  EXPECT_EQ(objects.get("totals/day")->body, "42");
  EXPECT_EQ(objects.get("totals/day")->token, 5u);
  EXPECT_TRUE(objects.fence("totals/day", 8).ok());
  EXPECT_TRUE(objects.put("totals/day", "43", 7).is(Code::kDenied));
  EXPECT_TRUE(objects.erase("totals/day", 8).ok());
  EXPECT_TRUE(objects.get("totals/day").is(Code::kNotFound));
  EXPECT_TRUE(objects.put("totals/day", "1", 7).is(Code::kDenied));
  EXPECT_TRUE(objects.put("plugin=coordinator/namespace=n/state.json", "", 9).is(Code::kInvalid));
}

}  // namespace api_test
