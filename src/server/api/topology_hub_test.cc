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
  std::shared_ptr<TestingCall> watch(std::uint64_t since) {
    auto call = std::make_shared<TestingCall>();
    hub_.watch(call, since);
    return call;
  }
  static v1::TopologyUpdate update(const TestingCall& call, std::size_t i) {
    v1::TopologyUpdate result;
    EXPECT_LT(i, call.written.size());
    if (i < call.written.size()) {
      EXPECT_TRUE(result.ParseFromString(*call.written[i]));
    }
    return result;
  }
  rpc::Payload full_sync() {
    ++full_syncs_;
    v1::TopologyUpdate update;
    to_proto(state_.topology(), *update.mutable_full_sync());
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
                   [this] { return full_sync(); },
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
