#include "core/membership/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/membership/routing_members.h"
#include "core/membership/testing.h"

namespace muster::membership {
namespace topology_test {

using namespace testing;  // NOLINT: the words of this module's tests.
using ::testing::HasSubstr;

/// A topology whose every apply is checked: versions chain by one, each change has its event, a
/// refusal changes nothing.
class TopologyTest : public ::testing::Test {
 protected:
  ApplyResult apply(const Command& command, std::int64_t seconds = 0) {
    const TopologyVersion before = topology_.version();
    ApplyResult result = topology_.apply(command, at(seconds));
    EXPECT_EQ(result.before, before);
    EXPECT_EQ(result.after, topology_.version());
    EXPECT_EQ(result.after.value() - result.before.value(), result.events.size());
    TopologyVersion last = before;
    for (const Event& event : result.events) {
      EXPECT_EQ(event.previous_version, last);
      EXPECT_EQ(event.version.value(), last.value() + 1);
      last = event.version;
    }
    EXPECT_TRUE(result.outcome || result.events.empty());
    return result;
  }
  void joined(const std::string& id, std::int64_t seconds = 0) {
    ASSERT_TRUE(apply(registration(id), seconds).outcome);
    ASSERT_TRUE(apply(beat(topology_, id), seconds).outcome);
    ASSERT_EQ(state(topology_, id), NodeState::kActive);
  }
  void brought_down(const std::string& id, std::int64_t seconds = 0) {
    ASSERT_TRUE(apply(MarkSuspect{seen(topology_, id), {}}, seconds).outcome);
    ASSERT_TRUE(apply(MarkDown{seen(topology_, id), {}}, seconds).outcome);
  }
  const NodeEntry& node(const std::string& id) { return *topology_.find(NodeId(id)); }

  Topology topology_;
};

// T08: registering did not start the clock.
TEST_F(TopologyTest, RegisteringMakesAJoiningNodeAndStartsItsClock) {
  const ApplyResult result = apply(registration("a"), 100);
  ASSERT_TRUE(result.outcome);
  EXPECT_FALSE(result.outcome->already_registered);
  ASSERT_EQ(result.events.size(), 1U);
  EXPECT_EQ(result.events[0].kind, EventKind::kNodeAdded);
  EXPECT_EQ(result.events[0].node, node("a"));
  EXPECT_EQ(node("a").state, NodeState::kJoining);
  EXPECT_EQ(node("a").registered_at, at(100));
  EXPECT_EQ(node("a").last_heartbeat_at, at(100));
  EXPECT_EQ(topology_.count(NodeState::kJoining), 1U);
}

// T10: re-registration raised the version, overwrote the state and said already_registered false.
TEST_F(TopologyTest, RegisteringAgainIsIdempotent) {
  joined("a");
  const NodeEntry before = node("a");
  const ApplyResult result = apply(registration("a"), 50);
  ASSERT_TRUE(result.outcome);
  EXPECT_TRUE(result.outcome->already_registered);
  EXPECT_TRUE(result.events.empty());
  EXPECT_EQ(node("a"), before);
}

// T07: a wrong generation was answered OK and broadcast. T11: one id existed in two roles.
TEST_F(TopologyTest, AnotherProcessCannotTakeALiveId) {
  joined("a");
  const NodeEntry before = node("a");
  NodeSpec elsewhere = spec("a", 2, "10.0.0.2");
  NodeSpec other_role = spec("a", 2);
  other_role.type = NodeType::kMetadata;
  NodeSpec other_port = spec("a", 2);
  other_port.port = 9001;
  NodeSpec changed = spec("a", 1, "10.0.0.2");
  for (const NodeSpec& wrong : {elsewhere, other_role, other_port, changed}) {
    const ApplyResult result = apply(RegisterNode{wrong, {}});
    ASSERT_TRUE(result.outcome.is(Errc::kConflict));
    EXPECT_THAT(result.outcome.error().message, HasSubstr("10.0.0.1:9000"));
    EXPECT_EQ(node("a"), before);
  }
  EXPECT_EQ(topology_.size(), 1U);
}

TEST_F(TopologyTest, ARestartAtTheSamePlaceReplacesAtOnceAndTheOldBecomesAZombie) {
  joined("a");
  const Slot slot = node("a").slot;
  const BatchHeartbeat stale = beat(topology_, "a");
  const ApplyResult result = apply(registration("a", 2), 5);
  ASSERT_TRUE(result.outcome);
  EXPECT_EQ(result.events.at(0).kind, EventKind::kNodeUpdated);
  EXPECT_EQ(node("a").state, NodeState::kJoining);
  EXPECT_EQ(node("a").slot, slot);
  EXPECT_EQ(node("a").registered_at, at(5));

  const auto zombie = topology_.check_heartbeat(NodeId("a"), Generation(uuid(1)));
  ASSERT_TRUE(zombie.is(Errc::kConflict));
  EXPECT_THAT(zombie.error().message, HasSubstr("Zombie node detected"));
  EXPECT_TRUE(topology_.check_heartbeat(NodeId("a"), Generation(uuid(2))));

  // A beat batched before the replacement counts for nobody.
  const ApplyResult beats = apply(stale, 6);
  EXPECT_EQ(beats.outcome->beats_void, 1U);
  EXPECT_EQ(node("a").state, NodeState::kJoining);

  // A late retry of the old process's registration must not displace the new one.
  const ApplyResult late = apply(registration("a", 1), 7);
  ASSERT_TRUE(late.outcome.is(Errc::kConflict));
  EXPECT_THAT(late.outcome.error().message, HasSubstr("Zombie node detected"));
  EXPECT_TRUE(
      apply(DeregisterNode{NodeId("a"), Generation(uuid(1)), {}}).outcome.is(Errc::kConflict));
}

TEST_F(TopologyTest, RetiredGenerationsAreRememberedUpToABound) {
  for (unsigned generation = 1; generation <= 10; ++generation) {
    ASSERT_TRUE(apply(registration("a", generation)).outcome);
  }
  EXPECT_EQ(node("a").retired.size(), kRetiredMax);
  EXPECT_EQ(node("a").retired.back(), Generation(uuid(9)));
}

TEST_F(TopologyTest, ALateRegistrationOfARemovedProcessDoesNotDisplaceItsSuccessor) {
  ASSERT_TRUE(apply(registration("a", 1)).outcome);
  ASSERT_TRUE(apply(registration("a", 2)).outcome);
  ASSERT_TRUE(apply(DeregisterNode{NodeId("a"), Generation(uuid(2)), {}}).outcome);
  ASSERT_TRUE(apply(registration("a", 3)).outcome);
  for (const unsigned late : {1U, 2U}) {
    EXPECT_TRUE(apply(registration("a", late)).outcome.is(Errc::kConflict)) << late;
  }
  EXPECT_EQ(node("a").generation, Generation(uuid(3)));
  EXPECT_TRUE(topology_.departed().empty());
}

TEST_F(TopologyTest, AProcessThatWasRemovedAndNotReplacedMayReturn) {
  ASSERT_TRUE(apply(registration("a", 1)).outcome);
  ASSERT_TRUE(apply(RemoveJoining{seen(topology_, "a"), {}}).outcome);
  ASSERT_TRUE(apply(registration("a", 1)).outcome);
  EXPECT_TRUE(node("a").retired.empty());
}

TEST_F(TopologyTest, RemovedNodesAreRememberedUpToABound) {
  for (std::size_t i = 0; i <= kDepartedMax; ++i) {
    const std::string id = "n" + std::to_string(i);
    ASSERT_TRUE(apply(registration(id)).outcome);
    ASSERT_TRUE(apply(DeregisterNode{NodeId(id), {}, {}}).outcome);
  }
  EXPECT_EQ(topology_.departed().size(), kDepartedMax);
  EXPECT_EQ(topology_.departed().front().id, NodeId("n1"));
}

TEST_F(TopologyTest, ADownNodeReturnsOnlyWithANewGeneration) {
  joined("a");
  brought_down("a");
  EXPECT_TRUE(topology_.check_heartbeat(NodeId("a"), Generation(uuid(1))).is(Errc::kConflict));
  EXPECT_EQ(apply(beat(topology_, "a")).outcome->beats_void, 1U);
  EXPECT_TRUE(apply(registration("a", 1)).outcome.is(Errc::kConflict));
  EXPECT_EQ(state(topology_, "a"), NodeState::kDown);
  ASSERT_TRUE(apply(RegisterNode{spec("a", 2, "10.9.9.9"), {}}).outcome);
  EXPECT_EQ(state(topology_, "a"), NodeState::kJoining);
  EXPECT_EQ(node("a").address, "10.9.9.9");
}

TEST_F(TopologyTest, AnUnknownNodesHeartbeatIsNotFoundSoThatItRegisters) {
  EXPECT_TRUE(topology_.check_heartbeat(NodeId("a"), Generation(uuid(1))).is(Errc::kNotFound));
  EXPECT_EQ(apply(BatchHeartbeat{99, {{7, NodeState::kActive}}, {}}).outcome->beats_void, 1U);
}

TEST_F(TopologyTest, HeartbeatsRaiseTheVersionOnlyWhereTheyChangeAState) {
  joined("a");
  joined("b");
  joined("c");
  const TopologyVersion version = topology_.version();
  const std::vector<Beat> beats = {{0, NodeState::kActive}, {1, NodeState::kUnknown}};
  ApplyResult result = apply(BatchHeartbeat{topology_.registrations(), beats, {}}, 10);
  EXPECT_EQ(result.outcome->beats_applied, 2U);
  EXPECT_EQ(topology_.version(), version);
  EXPECT_EQ(node("a").last_heartbeat_at, at(10));
  EXPECT_EQ(node("c").last_heartbeat_at, at(0));

  apply(MarkSuspect{seen(topology_, "a"), {}}, 60);
  const std::vector<Beat> change = {
      {0, NodeState::kActive}, {1, NodeState::kDraining}, {2, NodeState::kActive}};
  result = apply(BatchHeartbeat{topology_.registrations(), change, {}}, 61);
  ASSERT_EQ(result.events.size(), 2U);
  EXPECT_EQ(result.events[0].node.id, NodeId("a"));
  EXPECT_EQ(result.events[0].node.state, NodeState::kActive);
  EXPECT_EQ(result.events[1].node.id, NodeId("b"));
  EXPECT_EQ(result.events[1].node.state, NodeState::kDraining);
}

// P09: a stuck old leader revoked live leases.
TEST_F(TopologyTest, ADecisionIsVoidWhenTheNodeWasHeardOrReplacedSince) {
  joined("a");
  const Observation old = seen(topology_, "a");
  apply(beat(topology_, "a"), 10);
  EXPECT_TRUE(apply(MarkSuspect{old, {}}, 11).outcome.is(Errc::kConflict));
  ASSERT_TRUE(apply(MarkSuspect{seen(topology_, "a"), {}}, 60).outcome);
  const Observation suspected = seen(topology_, "a");
  apply(beat(topology_, "a"), 61);
  EXPECT_TRUE(apply(MarkDown{suspected, {}}, 62).outcome.is(Errc::kConflict));
  EXPECT_EQ(state(topology_, "a"), NodeState::kActive);

  ASSERT_TRUE(apply(MarkSuspect{seen(topology_, "a"), {}}, 120).outcome);
  const Observation before_restart = seen(topology_, "a");
  apply(registration("a", 2), 121);
  EXPECT_TRUE(apply(MarkDown{before_restart, {}}, 122).outcome.is(Errc::kConflict));
  EXPECT_TRUE(apply(MarkDown{{NodeId("x"), {}, {}, 0}, {}}).outcome.is(Errc::kNotFound));
}

// P09, P26: log time may stand still, as after a leader of 0.1 with a fast clock.
TEST_F(TopologyTest, ADecisionIsVoidEvenWhenLogTimeStandsStill) {
  joined("a", 3600);
  apply(MarkSuspect{seen(topology_, "a"), {}}, 10);
  const Observation old = seen(topology_, "a");
  apply(beat(topology_, "a"), 20);
  apply(MarkSuspect{seen(topology_, "a"), {}}, 70);
  EXPECT_EQ(node("a").last_heartbeat_at, old.last_heartbeat_at);
  EXPECT_TRUE(apply(MarkDown{old, {}}, 71).outcome.is(Errc::kConflict));
}

TEST_F(TopologyTest, EachDecisionFitsItsStateOnly) {
  joined("a");
  EXPECT_TRUE(apply(MarkDown{seen(topology_, "a"), {}}).outcome.is(Errc::kConflict));
  EXPECT_TRUE(apply(RemoveJoining{seen(topology_, "a"), {}}).outcome.is(Errc::kConflict));
  ASSERT_TRUE(apply(MarkSuspect{seen(topology_, "a"), {}}).outcome);
  EXPECT_TRUE(apply(MarkSuspect{seen(topology_, "a"), {}}).outcome.is(Errc::kConflict));
  EXPECT_EQ(node("a").suspect_count, 1U);
  ASSERT_TRUE(apply(MarkDown{seen(topology_, "a"), {}}).outcome);
  EXPECT_TRUE(apply(MarkDown{seen(topology_, "a"), {}}).outcome.is(Errc::kConflict));
  apply(registration("b"));
  EXPECT_TRUE(apply(MarkSuspect{seen(topology_, "b"), {}}).outcome.is(Errc::kConflict));
  ASSERT_TRUE(apply(beat(topology_, "b", NodeState::kDraining)).outcome);
  EXPECT_TRUE(apply(MarkSuspect{seen(topology_, "b"), {}}).outcome.is(Errc::kConflict));
  EXPECT_TRUE(apply(MarkDown{seen(topology_, "b"), {}}).outcome);
}

TEST_F(TopologyTest, ANodeThatDoesNotJoinIsRemovedEvenIfItSendsHeartbeats) {
  apply(registration("a"));
  const Observation decision = seen(topology_, "a");
  apply(beat(topology_, "a", NodeState::kJoining), 10);
  EXPECT_EQ(state(topology_, "a"), NodeState::kJoining);
  const ApplyResult result = apply(RemoveJoining{decision, {}}, 300);
  ASSERT_TRUE(result.outcome);
  EXPECT_EQ(result.events.at(0).kind, EventKind::kNodeRemoved);
  EXPECT_EQ(topology_.find(NodeId("a")), nullptr);
  EXPECT_TRUE(apply(RemoveJoining{decision, {}}).outcome.is(Errc::kNotFound));
  apply(registration("a", 2));
  EXPECT_TRUE(apply(RemoveJoining{decision, {}}).outcome.is(Errc::kConflict));
}

TEST_F(TopologyTest, ADecisionAboutANodeThatDidNotJoinIsVoidOnceItIsBack) {
  apply(registration("a", 1));
  const Observation decision = seen(topology_, "a");
  ASSERT_TRUE(apply(RemoveJoining{decision, {}}, 300).outcome);
  ASSERT_TRUE(apply(registration("a", 1), 300).outcome);
  EXPECT_TRUE(apply(RemoveJoining{decision, {}}, 300).outcome.is(Errc::kConflict));
}

TEST_F(TopologyTest, SlotsAreReusedAfterRemovalAndABatchedBeatOfTheFormerTenantIsVoid) {
  joined("a");
  joined("b");
  const BatchHeartbeat stale = beat(topology_, "a");
  ASSERT_TRUE(apply(DeregisterNode{NodeId("a"), {}, {}}).outcome);
  EXPECT_EQ(apply(stale).outcome->beats_void, 1U);
  apply(registration("c"));
  EXPECT_EQ(node("c").slot, 0U);
  EXPECT_EQ(apply(stale).outcome->beats_void, 1U);
  EXPECT_EQ(state(topology_, "c"), NodeState::kJoining);
  apply(registration("d"));
  EXPECT_EQ(node("d").slot, 2U);
  EXPECT_EQ(topology_.at(2)->id, NodeId("d"));
  EXPECT_EQ(topology_.at(3), nullptr);
  EXPECT_TRUE(apply(DeregisterNode{NodeId("a"), {}, {}}).outcome.is(Errc::kNotFound));
}

TEST_F(TopologyTest, AnOperatorsDrainStaysUntilTheOperatorTakesItBack) {
  joined("a");
  ASSERT_TRUE(apply(Drain{NodeId("a"), false, {}}).outcome);
  EXPECT_EQ(state(topology_, "a"), NodeState::kDraining);
  apply(beat(topology_, "a", NodeState::kActive));
  EXPECT_EQ(state(topology_, "a"), NodeState::kDraining);
  apply(registration("a", 2));
  apply(beat(topology_, "a", NodeState::kActive));
  EXPECT_EQ(state(topology_, "a"), NodeState::kDraining);
  EXPECT_TRUE(apply(Drain{NodeId("a"), false, {}}).events.empty());
  ASSERT_TRUE(apply(Drain{NodeId("a"), true, {}}).outcome);
  EXPECT_EQ(state(topology_, "a"), NodeState::kActive);
  EXPECT_TRUE(apply(Drain{NodeId("a"), true, {}}).events.empty());
  EXPECT_TRUE(apply(Drain{NodeId("x"), false, {}}).outcome.is(Errc::kNotFound));
}

TEST_F(TopologyTest, ANodesOwnDrainIsCancelledByTheNodeOnly) {
  joined("a");
  apply(beat(topology_, "a", NodeState::kDraining));
  EXPECT_TRUE(apply(Drain{NodeId("a"), true, {}}).outcome.is(Errc::kConflict));
  apply(beat(topology_, "a", NodeState::kUnknown));
  EXPECT_EQ(state(topology_, "a"), NodeState::kDraining);
  apply(beat(topology_, "a", NodeState::kActive));
  EXPECT_EQ(state(topology_, "a"), NodeState::kActive);
  brought_down("a");
  EXPECT_TRUE(apply(Drain{NodeId("a"), false, {}}).outcome.is(Errc::kConflict));
}

TEST_F(TopologyTest, TheRingConfigIsVersionedToo) {
  const ApplyResult result = apply(SetRingConfig{{32, 2, {}}, {}});
  ASSERT_EQ(result.events.size(), 1U);
  EXPECT_EQ(result.events[0].kind, EventKind::kRingConfigChanged);
  EXPECT_EQ(result.events[0].ring, topology_.ring());
  EXPECT_TRUE(apply(SetRingConfig{{32, 2, {}}, {}}).events.empty());
}

TEST_F(TopologyTest, SuspicionsAreRememberedUpToABound) {
  joined("a");
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(apply(MarkSuspect{seen(topology_, "a"), {}}, i).outcome);
    ASSERT_TRUE(apply(beat(topology_, "a"), i).outcome);
  }
  EXPECT_EQ(node("a").suspect_count, 20U);
  EXPECT_EQ(node("a").suspected_at.size(), kFlapHistoryMax);
  EXPECT_EQ(node("a").suspected_at.back(), at(19));
}

// T19: the ring as the state table says. T20: a ring smaller than the replication factor is fine.
TEST_F(TopologyTest, RingMembersAreActiveAndSuspectNodesWithTheirWeights) {
  EXPECT_TRUE(ring_members(topology_).empty());
  NodeSpec heavy = spec("active");
  heavy.weight = 4;
  apply(RegisterNode{heavy, {}});
  apply(beat(topology_, "active"));
  joined("suspect");
  joined("draining");
  joined("down");
  apply(registration("joining"));
  apply(MarkSuspect{seen(topology_, "suspect"), {}});
  apply(beat(topology_, "draining", NodeState::kDraining));
  brought_down("down");
  EXPECT_THAT(ring_members(topology_),
              ::testing::ElementsAre(RoutingMember{NodeId("active"), 4, false},
                                     RoutingMember{NodeId("suspect"), 1, true}));
  for (const NodeState s : {NodeState::kActive, NodeState::kSuspect, NodeState::kDraining,
                            NodeState::kDown, NodeState::kJoining}) {
    EXPECT_EQ(topology_.count(s), 1U) << to_string(s);
  }
}

TEST(TopologyRestoreTest, RefusesWhatNoTopologyCanBe) {
  NodeEntry a, b;
  static_cast<NodeSpec&>(a) = spec("a");
  static_cast<NodeSpec&>(b) = spec("b");
  a.registration = b.registration = 1;
  b.slot = 1;
  const auto image = [](std::vector<NodeEntry> nodes) {
    return TopologySnapshot{TopologyVersion(5), at(0), {}, 1, {}, std::move(nodes), {}, {}, {}};
  };
  EXPECT_TRUE(Topology::restore(image({a, b})));
  NodeEntry same_slot = b, same_id = a, far = b, future = b, never = b;
  same_slot.slot = 0;
  same_id.slot = 1;
  far.slot = kSlotsMax;
  future.registration = 2;
  never.registration = 0;
  for (const NodeEntry& bad : {same_slot, same_id, far, future, never}) {
    EXPECT_TRUE(Topology::restore(image({a, bad})).is(Errc::kCorrupt));
  }
  TopologySnapshot crowded = image({a, b});
  crowded.departed.resize(kDepartedMax + 1);
  EXPECT_TRUE(Topology::restore(std::move(crowded)).is(Errc::kCorrupt));
}

}  // namespace topology_test
}  // namespace muster::membership
