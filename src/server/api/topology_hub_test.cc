#include "server/api/topology_hub.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/membership/testing.h"
#include "muster/v1/coordinator.pb.h"
#include "server/api/convert.h"
#include "server/rpc/message.h"
#include "server/rpc/testing_call.h"
#include "sim/world.h"

namespace muster::server {
namespace topology_hub_test {

using rpc::TestingCall;

class TopologyHubTest : public ::testing::Test {
 protected:
  void apply(const membership::Command& command) {
    auto applied =
        state_.apply(cluster::encode(cluster::ChangeTopology{command}), {++index_, 0, {}});
    ASSERT_TRUE(applied);
    hub_.publish(applied->events);
  }
  void add(int count) {
    for (int i = 0; i < count; ++i) {
      apply(membership::testing::registration("n" + std::to_string(++nodes_)));
    }
  }
  std::shared_ptr<TestingCall> watch(std::uint64_t since, const std::string& service = {}) {
    auto call = std::make_shared<TestingCall>();
    hub_.watch(call, since, *membership::ServiceFilter::parse(service));
    return call;
  }
  void enter(const std::string& id, const std::string& service, unsigned generation = 1) {
    apply(membership::registration_of(
        membership::testing::service_spec(id, service, {}, generation)));
  }
  void remove(const std::string& id) { apply(membership::DeregisterNode{NodeId(id), {}, {}}); }
  void bring_down(const std::string& id) {
    apply(membership::testing::beat(state_.topology(), id));
    apply(membership::MarkSuspect{membership::testing::seen(state_.topology(), id), {}});
    apply(membership::MarkDown{membership::testing::seen(state_.topology(), id), {}});
  }
  /// What the updates after the first message say: "1>3 +a" leads from version 1 to 3 and adds a.
  static std::string told(TestingCall& call, std::size_t from = 1) {
    call.take_all();
    std::string text;
    for (std::size_t i = from; i < call.written.size(); ++i) {
      const v1::TopologyUpdate u = update(call, i);
      text += (text.empty() ? "" : ", ") + std::to_string(u.previous_version()) + ">" +
              std::to_string(u.version()) + " ";
      if (u.has_node_added()) text += "+" + u.node_added().id();
      if (u.has_node_updated()) text += "=" + u.node_updated().id();
      if (u.has_node_removed()) text += "-" + u.node_removed().id();
      if (u.has_full_sync()) text += "full";
      if (u.has_keepalive()) text += "keepalive";
      if (u.has_lagged()) text += "lagged";
      if (u.has_ring_changed()) text += "ring";
      EXPECT_EQ(u.SerializeAsString(), *call.written[i]) << "as if it were made at once";
    }
    return text;
  }
  static v1::TopologyUpdate update(const TestingCall& call, std::size_t i) {
    v1::TopologyUpdate result;
    EXPECT_LT(i, call.written.size());
    if (i < call.written.size()) {
      EXPECT_TRUE(result.ParseFromString(*call.written[i]));
    }
    return result;
  }
  rpc::Payload full_sync(const membership::ServiceFilter& services) {
    ++full_syncs_;
    v1::TopologyUpdate update;
    to_proto(state_.topology(), services, *update.mutable_full_sync());
    update.set_version(update.full_sync().version());
    return rpc::to_payload(update);
  }

  sim::World world_{1};
  sim::Process process_{world_, 1.0, 0s};
  cluster::ClusterState state_;
  std::uint64_t index_ = 0;
  int nodes_ = 0;
  int full_syncs_ = 0;
  TopologyHub hub_{process_,
                   state_,
                   [this](const auto& services) { return full_sync(services); },
                   {.history_events = 4, .history_bytes = 1 << 20, .keepalive = 30s}};
};

TEST_F(TopologyHubTest, AWatcherReadsOnAtItsOwnPace) {
  auto slow = watch(0);
  auto fast = watch(0);
  EXPECT_EQ(full_syncs_, 1) << "made once for both";
  fast->take();
  add(3);
  fast->take_all();
  ASSERT_EQ(fast->written.size(), 4U);
  EXPECT_EQ(slow->written.size(), 1U) << "nothing is queued for it";
  slow->take_all();
  ASSERT_EQ(slow->written.size(), 4U);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(update(*slow, i).previous_version(), i - 1);
    EXPECT_EQ(update(*slow, i).version(), i);
    EXPECT_EQ(slow->written[i], fast->written[i]) << "one message for all";
  }
}

// P16.
TEST_F(TopologyHubTest, AWatcherThatTheHistoryHasOvertakenIsToldAndSyncedAnew) {
  auto slow = watch(0);
  add(10);
  slow->take_all();
  ASSERT_EQ(slow->written.size(), 3U);
  const auto lagged = update(*slow, 1);
  EXPECT_EQ(lagged.lagged().current_version(), 10U);
  EXPECT_EQ(lagged.lagged().missed_updates(), 10U);
  EXPECT_EQ(update(*slow, 2).full_sync().object_nodes_size(), 10);
  add(1);
  EXPECT_EQ(update(*slow, 3).previous_version(), 10U);
}

TEST_F(TopologyHubTest, AReplayIsExactOrEverything) {
  add(6);  // The history leads on from version 2.
  auto exact = watch(2);
  exact->take_all();
  ASSERT_EQ(exact->written.size(), 4U);
  EXPECT_EQ(update(*exact, 0).previous_version(), 2U);
  EXPECT_TRUE(update(*watch(1), 0).has_full_sync());
  EXPECT_TRUE(update(*watch(99), 0).has_full_sync()) << "a version of another history";
  EXPECT_TRUE(update(*watch(6), 0).has_keepalive()) << "nothing is missing";
}

TEST_F(TopologyHubTest, AReplacedStateIsSyncedAnew) {
  add(2);
  auto call = watch(2);
  call->take_all();
  add(2);
  call->take_all();
  // As if a snapshot from far ahead had been loaded.
  cluster::ClusterState ahead;
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(ahead.apply(cluster::encode(cluster::ChangeTopology{
                                membership::testing::registration("m" + std::to_string(i))}),
                            {static_cast<std::uint64_t>(i + 1), 0, {}}));
  }
  state_ = std::move(ahead);
  hub_.reset();
  call->take_all();
  EXPECT_TRUE(update(*call, call->written.size() - 2).has_lagged());
  EXPECT_EQ(update(*call, call->written.size() - 1).version(), 9U);
}

// A message that is done in between makes the hub look at the new state before it hears of it.
TEST_F(TopologyHubTest, AReplacedStateIsNotReadWithTheOldHistory) {
  add(4);
  auto call = watch(4);
  cluster::ClusterState ahead;
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(ahead.apply(cluster::encode(cluster::ChangeTopology{
                                membership::testing::registration("m" + std::to_string(i))}),
                            {static_cast<std::uint64_t>(i + 1), 0, {}}));
  }
  state_ = std::move(ahead);
  call->take();
  ASSERT_EQ(call->written.size(), 2U);
  EXPECT_TRUE(update(*call, 1).has_lagged());
  auto other = watch(6);
  EXPECT_TRUE(update(*other, 0).has_lagged()) << "the history ends before its version";
  hub_.reset();
  call->take_all();
  EXPECT_EQ(update(*call, call->written.size() - 1).version(), 9U);
}

TEST_F(TopologyHubTest, SilenceIsBrokenByKeepalives) {
  auto call = watch(0);
  call->take();
  world_.run(29s);
  EXPECT_EQ(call->written.size(), 1U);
  world_.run(31s);
  ASSERT_EQ(call->written.size(), 2U);
  EXPECT_TRUE(update(*call, 1).has_keepalive());
}

TEST_F(TopologyHubTest, AFilteredWatcherGetsEveryChangeOfItsServiceAndNoOther) {
  enter("f", "search");
  enter("g", "queue");
  auto search = watch(0, "search");
  auto object = watch(0, "object");
  auto typed = watch(0);
  auto all = watch(0, "*");
  search->take_all();
  const auto sync = update(*search, 0).full_sync();
  EXPECT_EQ(sync.version(), 2U);
  ASSERT_EQ(sync.nodes_size(), 1) << "its own nodes only";
  EXPECT_EQ(sync.nodes(0).id(), "f");
  EXPECT_EQ(sync.nodes(0).service(), "search");
  EXPECT_EQ(sync.object_nodes_size(), 0);
  all->take_all();
  EXPECT_EQ(update(*all, 0).full_sync().nodes_size(), 2);
  typed->take_all();
  EXPECT_EQ(update(*typed, 0).full_sync().nodes_size(), 0) << "clients of 0.1 are not told";
  for (const auto& each : {search, object, typed, all}) each->take_all();

  const auto everybody = [&] {
    return told(*search) + "; " + told(*object) + "; " + told(*typed) + "; " + told(*all);
  };
  enter("a", "object");  // 3
  enter("h", "search");  // 4
  EXPECT_EQ(everybody(), "2>4 +h; 2>3 +a; 2>3 +a; 2>3 +a, 3>4 +h");
  remove("g");  // 5
  remove("h");  // 6
  EXPECT_EQ(told(*search), "2>4 +h, 4>6 -h");
  apply(membership::SetRingConfig{{32, 3, {}}, {}});  // 7, for all
  EXPECT_EQ(told(*search), "2>4 +h, 4>6 -h, 6>7 ring");
  EXPECT_EQ(told(*typed), "2>3 +a, 3>7 ring");
}

TEST_F(TopologyHubTest, ANodeThatChangesItsServiceLeavesTheOneAndEntersTheOther) {
  enter("a", "search");
  auto search = watch(1, "search");
  auto queue = watch(1, "queue");
  auto typed = watch(1);
  auto all = watch(1, "*");
  for (const auto& each : {search, queue, typed, all}) each->take_all();
  bring_down("a");         // 2, 3, 4
  enter("a", "queue", 2);  // 5
  EXPECT_EQ(told(*search), "1>2 =a, 2>3 =a, 3>4 =a, 4>5 -a");
  EXPECT_EQ(update(*search, 4).node_removed().service(), "search") << "as it was";
  EXPECT_EQ(told(*queue), "1>5 +a");
  EXPECT_EQ(told(*typed), "");
  EXPECT_EQ(told(*all, 4), "4>5 =a");
  bring_down("a");            // 6, 7, 8
  enter("a", "frontend", 3);  // 9
  EXPECT_EQ(told(*typed), "1>9 +a");
}

TEST_F(TopologyHubTest, AFilteredWatcherReturnsWithoutAFullSyncAndLearnsOfQuietTimes) {
  enter("f", "search");
  for (int i = 0; i < 3; ++i) enter("q" + std::to_string(i), "queue");
  auto back = watch(1, "search");
  EXPECT_EQ(told(*back, 0), "1>4 keepalive") << "it has missed nothing";
  auto typed = watch(1);
  EXPECT_EQ(told(*typed, 0), "1>1 keepalive") << "clients of 0.1 do not read the version";
  enter("q3", "queue");
  EXPECT_EQ(told(*back), "");
  world_.run(31s);
  EXPECT_EQ(told(*back), "4>5 keepalive");
  enter("g", "search");
  EXPECT_EQ(told(*back), "4>5 keepalive, 5>6 +g");
  enter("o", "object");
  typed->take_all();
  const v1::TopologyUpdate last = update(*typed, typed->written.size() - 1);
  EXPECT_EQ(last.node_added().id(), "o");
  EXPECT_EQ(last.previous_version(), 1U);
  EXPECT_EQ(last.version(), 7U);
}

TEST_F(TopologyHubTest, ChangesOfOthersDoNotOvertakeAFilteredWatcherThatReads) {
  enter("f", "search");
  auto search = watch(0, "search");
  search->take_all();
  for (int i = 0; i < 20; ++i) enter("q" + std::to_string(i), "queue");
  EXPECT_EQ(hub_.lag(), 0U);
  enter("g", "search");
  EXPECT_EQ(told(*search), "1>22 +g");
}

// Changes that come faster than everybody can be told must not tell the same ones each time.
TEST_F(TopologyHubTest, NobodyIsPassedOverWhileChangesKeepComing) {
  std::vector<std::shared_ptr<TestingCall>> others;
  const auto watch_on = [this](std::uint64_t connection) {
    auto call = std::make_shared<TestingCall>();
    call->connection_number = connection;
    hub_.watch(call, 0);
    call->take();
    return call;
  };
  const auto first = watch_on(1);
  for (int i = 0; i < 700; ++i) others.push_back(watch_on(2));
  int changes = 0;
  std::function<void()> change = [&] {
    add(1);
    if (++changes < 8) process_.at(process_.now(), change);
  };
  process_.at(process_.now(), change);
  world_.run(1s, [&] { return changes < 8; });
  EXPECT_GT(first->written.size(), 1U);
}

// T17.
TEST_F(TopologyHubTest, EveryEndGivesThePlaceBack) {
  auto gone = watch(0);
  auto stopped = watch(0);
  EXPECT_EQ(hub_.watchers(), 2U);
  gone->end();
  EXPECT_EQ(hub_.watchers(), 1U);
  auto dead = std::make_shared<TestingCall>();
  dead->end();
  hub_.watch(dead, 0);
  EXPECT_EQ(hub_.watchers(), 1U);
  hub_.close();
  EXPECT_EQ(hub_.watchers(), 0U);
  EXPECT_EQ(stopped->finished->code, rpc::Code::kUnavailable);
}

}  // namespace topology_hub_test
}  // namespace muster::server
