#include "core/client/agent_machine.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

namespace muster::client {
namespace agent_machine_test {

constexpr MonoTime kStart{100s};
using Kinds = std::vector<AgentEventKind>;

NodeSpec spec(const std::string& id) {
  NodeSpec s;
  s.id = NodeId(id);
  s.address = "10.0.0.1";
  s.port = 7000;
  s.type = NodeType::kObject;
  return s;
}

RpcStatus refusal(RpcCode code, const std::string& message) {
  return {code, message, Reach::kAnswered, {}};
}

class AgentMachineTest : public ::testing::Test {
 protected:
  /// Registers, and answers the first heartbeat.
  Generation bring_in(const std::string& id, MonoTime now = kStart) {
    EXPECT_TRUE(machine.add(spec(id), now));
    const auto work = machine.take_work(now);
    EXPECT_EQ(work.registrations.size(), 1U);
    const Generation generation = work.registrations.at(0).generation;
    machine.registered(NodeId(id), generation, Done{}, now, events);
    EXPECT_EQ(machine.take_work(now).beats.size(), 1U);
    machine.beats_answered({}, now, events);
    return generation;
  }
  Kinds kinds() {
    Kinds all;
    for (const AgentEvent& event : std::exchange(events, {})) all.push_back(event.kind);
    return all;
  }
  AgentConfig config;
  AgentMachine machine{config, Random(1)};
  AgentMachine::Events events;
};

TEST_F(AgentMachineTest, RegistersThenBeatsAtOnceThenEveryInterval) {
  const Generation generation = bring_in("a");
  EXPECT_EQ(machine.generation(NodeId("a")), generation);
  EXPECT_EQ(kinds(), Kinds{AgentEventKind::kRegistered});
  MonoTime now = kStart;
  for (int round = 0; round < 50; ++round) {
    const MonoTime next = machine.work_at().value();
    EXPECT_LE(next - now, 10s);
    EXPECT_GE(next - now, 9s - 1ns);
    EXPECT_TRUE(machine.take_work(next - 1ms).beats.empty());
    const auto beats = machine.take_work(next).beats;
    ASSERT_EQ(beats.size(), 1U);
    EXPECT_EQ(beats[0].generation, generation);
    EXPECT_EQ(beats[0].reported, NodeState::kActive);
    machine.beats_answered({}, next, events);
    now = next;
  }
}

TEST_F(AgentMachineTest, ManyNodesShareOneMessage) {
  for (int i = 0; i < 100; ++i) machine.add(spec("n" + std::to_string(i)), kStart);
  std::size_t in = 0;
  while (in < 100) {
    const auto work = machine.take_work(kStart);
    EXPECT_LE(work.registrations.size(), config.registrations_max);
    for (const NodeSpec& s : work.registrations) {
      machine.registered(s.id, s.generation, Done{}, kStart, events);
      ++in;
    }
    if (!work.beats.empty()) machine.beats_answered({}, kStart, events);
  }
  while (!machine.take_work(kStart).beats.empty()) machine.beats_answered({}, kStart, events);
  EXPECT_EQ(machine.take_work(kStart + 10s).beats.size(), 100U);
}

TEST_F(AgentMachineTest, WhatTheServersLostRegistersAnewAsANewGeneration) {
  MonoTime now = kStart;
  for (const RpcStatus& status : {refusal(RpcCode::kNotFound, "not registered"),
                                  refusal(RpcCode::kFailedPrecondition, "it is DOWN")}) {
    const NodeId id("a");
    const Generation old = bring_in("a", now);
    now += 10s;
    ASSERT_EQ(machine.take_work(now).beats.size(), 1U);
    kinds();
    machine.beats_answered({{0, status}}, now, events);
    EXPECT_EQ(kinds(), Kinds{AgentEventKind::kLost});
    EXPECT_FALSE(machine.generation(id));
    const auto again = machine.take_work(now).registrations;
    ASSERT_EQ(again.size(), 1U);
    EXPECT_NE(again[0].generation, old);
    machine.registered(id, again[0].generation, Done{}, now, events);
    EXPECT_EQ(machine.generation(id), again[0].generation);
    machine.remove(id, now);
    (void)machine.take_work(now);
    machine.deregistered(id, Done{}, now, events);
    EXPECT_EQ(machine.size(), 0U);
    now += 10s;
  }
}

// Two processes with one id must not throw each other out for ever.
TEST_F(AgentMachineTest, AReplacedNodeIsLeftAlone) {
  (void)bring_in("a");
  kinds();
  (void)machine.take_work(kStart + 10s);
  RpcStatus replaced = refusal(RpcCode::kFailedPrecondition, "a at 10.0.0.9:7000 has its place");
  replaced.replaced = true;
  machine.beats_answered({{0, replaced}}, kStart + 10s, events);
  EXPECT_EQ(kinds(), Kinds{AgentEventKind::kReplaced});
  EXPECT_EQ(machine.size(), 0U);
  const auto work = machine.take_work(kStart + 60s);
  EXPECT_TRUE(work.registrations.empty() && work.deregistrations.empty() && work.beats.empty());
}

TEST_F(AgentMachineTest, LostHeartbeatsAreSentAgainSoonAndToldOnce) {
  (void)bring_in("a");
  kinds();
  MonoTime now = kStart + 10s;
  Duration wait{0};
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(machine.take_work(now).beats.size(), 1U) << i;
    machine.beats_lost("no connection", now, events);
    wait = machine.work_at().value() - now;
    EXPECT_GT(wait, 0s);
    now += wait;
  }
  EXPECT_GT(wait, 1s);
  EXPECT_EQ(machine.take_work(now).beats.size(), 1U);
  machine.beats_answered({}, now, events);
  EXPECT_EQ(kinds(), (Kinds{AgentEventKind::kUnreachable, AgentEventKind::kReachable}));
}

TEST_F(AgentMachineTest, ARegistrationThatFailsForAWhileIsTriedAgainWithTheSameGeneration) {
  machine.add(spec("a"), kStart);
  const auto first = machine.take_work(kStart).registrations.at(0).generation;
  machine.registered(NodeId("a"), first, Status(Errc::kAmbiguous, "?"), kStart, events);
  EXPECT_TRUE(machine.take_work(kStart).registrations.empty());
  const MonoTime again = machine.work_at().value();
  EXPECT_EQ(machine.take_work(again).registrations.at(0).generation, first);
  EXPECT_TRUE(kinds().empty());
}

TEST_F(AgentMachineTest, ARefusedRegistrationIsToldAndTriedAgainAsAnotherGeneration) {
  machine.add(spec("a"), kStart);
  const auto first = machine.take_work(kStart).registrations.at(0).generation;
  machine.registered(NodeId("a"), first, Status(Errc::kConflict, "held by another"), kStart,
                     events);
  EXPECT_EQ(kinds(), Kinds{AgentEventKind::kRefused});
  const auto again = machine.take_work(machine.work_at().value()).registrations.at(0).generation;
  EXPECT_NE(again, first);
}

// Its registration was applied and the answer lost; before it asked again, another came.
TEST_F(AgentMachineTest, ANodeThatWasReplacedBeforeItKnewThatItWasInIsLeftAlone) {
  machine.add(spec("a"), kStart);
  const auto first = machine.take_work(kStart).registrations.at(0).generation;
  machine.registered(NodeId("a"), first, Status(Errc::kAmbiguous, "?"), kStart, events);
  (void)machine.take_work(machine.work_at().value());
  machine.displaced(NodeId("a"), "a at 10.0.0.9:7000 has its place", events);
  EXPECT_EQ(kinds(), Kinds{AgentEventKind::kReplaced});
  EXPECT_EQ(machine.size(), 0U);
  EXPECT_FALSE(machine.work_at());
}

TEST_F(AgentMachineTest, AnInvalidNodeIsGivenUp) {
  machine.add(spec("a"), kStart);
  const auto work = machine.take_work(kStart);
  machine.registered(NodeId("a"), work.registrations.at(0).generation,
                     Status(Errc::kInvalid, "port"), kStart, events);
  EXPECT_TRUE(events.at(0).final);
  EXPECT_EQ(kinds(), Kinds{AgentEventKind::kRefused});
  EXPECT_EQ(machine.size(), 0U);
}

TEST_F(AgentMachineTest, ThrottlingIsWaitedFor) {
  machine.add(spec("a"), kStart);
  const auto work = machine.take_work(kStart);
  machine.registered(NodeId("a"), work.registrations.at(0).generation,
                     Status(Error{Errc::kThrottled, "slow down", 30s}), kStart, events);
  EXPECT_EQ(machine.work_at(), kStart + 30s);
}

TEST_F(AgentMachineTest, DrainingIsReportedAtOnceAndTakenBack) {
  (void)bring_in("a");
  EXPECT_TRUE(machine.set_draining(NodeId("a"), true, kStart));
  EXPECT_EQ(machine.take_work(kStart).beats.at(0).reported, NodeState::kDraining);
  machine.beats_answered({}, kStart, events);
  EXPECT_TRUE(machine.set_draining(NodeId("a"), false, kStart));
  EXPECT_EQ(machine.take_work(kStart).beats.at(0).reported, NodeState::kActive);
  EXPECT_FALSE(machine.set_draining(NodeId("none"), true, kStart));
}

TEST_F(AgentMachineTest, LeavingDeregistersUntilItIsOut) {
  const Generation generation = bring_in("a");
  kinds();
  machine.remove_all(kStart);
  const auto work = machine.take_work(kStart);
  ASSERT_EQ(work.deregistrations.size(), 1U);
  EXPECT_EQ(work.deregistrations[0].generation, generation);
  machine.deregistered(NodeId("a"), Status(Errc::kUnavailable, "away"), kStart, events);
  const MonoTime again = machine.work_at().value();
  ASSERT_EQ(machine.take_work(again).deregistrations.size(), 1U);
  EXPECT_TRUE(machine.take_work(again).beats.empty());
  // The answer to the first one was lost: it is out, which is what was wanted.
  machine.deregistered(NodeId("a"), Status(Errc::kNotFound, "gone"), again, events);
  EXPECT_EQ(kinds(), Kinds{AgentEventKind::kDeregistered});
  EXPECT_EQ(machine.size(), 0U);
}

TEST_F(AgentMachineTest, LeavingWaitsForARegistrationUnderWay) {
  machine.add(spec("a"), kStart);
  const auto work = machine.take_work(kStart);
  EXPECT_TRUE(machine.remove(NodeId("a"), kStart));
  EXPECT_TRUE(machine.take_work(kStart).deregistrations.empty());
  // Even when its outcome is not known, it is taken out.
  machine.registered(NodeId("a"), work.registrations.at(0).generation,
                     Status(Errc::kAmbiguous, "?"), kStart, events);
  EXPECT_EQ(machine.take_work(kStart).deregistrations.size(), 1U);
}

TEST_F(AgentMachineTest, TheAnswerToAnEarlierLifeIsIgnored) {
  (void)bring_in("a");
  const MonoTime later = kStart + 10s;
  ASSERT_EQ(machine.take_work(later).beats.size(), 1U);
  machine.remove(NodeId("a"), later);
  (void)machine.take_work(later);
  machine.deregistered(NodeId("a"), Done{}, later, events);
  machine.add(spec("a"), later);
  const auto again = machine.take_work(later).registrations.at(0);
  machine.registered(NodeId("a"), again.generation, Done{}, later, events);
  kinds();
  machine.beats_answered({{0, refusal(RpcCode::kNotFound, "not registered")}}, later, events);
  EXPECT_TRUE(kinds().empty());
  EXPECT_EQ(machine.generation(NodeId("a")), again.generation);
}

TEST_F(AgentMachineTest, NumbersThatCannotWorkAreRefused) {
  EXPECT_TRUE(AgentConfig{}.validate());
  config.heartbeat_interval = 0s;
  EXPECT_TRUE(config.validate().is(Errc::kInvalid));
  config = {};
  config.registrations_max = 0;
  EXPECT_TRUE(config.validate().is(Errc::kInvalid));
}

}  // namespace agent_machine_test
}  // namespace muster::client
