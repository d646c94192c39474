// Commands through the store, and the telemetry of a candidate.

#include <gtest/gtest.h>

#include <set>

#include "candidate/candidate.h"
#include "candidate/candidate_test_world.h"

namespace muster {
namespace candidate_command_test {

using S = CandidateState;
using World = CandidateWorld;

class CandidateCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    a = &world.add("a");
    b = &world.add("b");
    c = &world.add("c");
    world.run(10s);
    ASSERT_EQ(a->state(), S::kLeading);
  }
  void command(ControlKind kind, std::uint64_t epoch, std::optional<WorkerId> worker = {}) {
    const ControlCommand command{
        "id-" + std::to_string(++commands), kind, Epoch(epoch), worker, {}};
    b->process->post([this, command] {
      write_control(*b->store, world.keys.control, command, b->process->now() + 5s,
                    [](const Status& status) {
                      EXPECT_TRUE(status.ok()) << (status ? "" : status.error().message);
                    });
    });
  }
  [[nodiscard]] std::optional<ControlAck> ack() const {
    return decode_control(world.body(world.keys.control))->ack;
  }

  World world;
  World::Node* a = nullptr;
  World::Node* b = nullptr;
  World::Node* c = nullptr;
  int commands = 0;
};

TEST_F(CandidateCommandTest, AStepDownIsNoticedWithinAHeartbeatAndAcknowledged) {
  command(ControlKind::kStepDown, 1);
  world.run(1800ms);
  EXPECT_FALSE(a->leads());
  ASSERT_TRUE(ack().has_value());
  EXPECT_EQ(ack()->id, "id-1");
  EXPECT_EQ(ack()->by, WorkerId("a"));
  EXPECT_EQ(a->state(), S::kBackoff);
  world.run(3s);
  EXPECT_TRUE(b->leads() || c->leads());
  world.run(1min);
  EXPECT_EQ(a->state(), S::kStandby);
  EXPECT_EQ(a->candidate->metrics().commands, 1u);
}

TEST_F(CandidateCommandTest, ATransferGoesToTheOneThatItNames) {
  command(ControlKind::kTransfer, 1, WorkerId("c"));
  world.run(6s);
  EXPECT_TRUE(c->leads());
  EXPECT_EQ(world.stored().epoch, Epoch(2));
}

TEST_F(CandidateCommandTest, APausedNodeStaysOutUntilItIsResumed) {
  command(ControlKind::kPause, 1);
  world.run(6s);
  EXPECT_EQ(a->state(), S::kPaused);
  EXPECT_TRUE(b->leads() || c->leads());
  world.kill(*b);
  world.kill(*c);
  world.run(5min);
  EXPECT_EQ(a->state(), S::kPaused) << "also when nobody else is left";
  world.begin(*b, "b");
  b->tell([](Candidate& candidate) { candidate.set_eligible(false); });
  command(ControlKind::kResume, 2, WorkerId("a"));
  world.run(5s);
  EXPECT_EQ(a->state(), S::kLeading);
  EXPECT_EQ(ack()->by, WorkerId("a"));
}

TEST_F(CandidateCommandTest, AResumeThatOvertakesTheEndOfAPauseCounts) {
  a->work->habits.ignores_stop = 1;
  command(ControlKind::kPause, 1);
  world.run_until([&] { return a->state() == S::kStopping && ack(); }, 3s);
  command(ControlKind::kResume, 1);
  world.run(30s);
  EXPECT_TRUE(a->leads()) << "it is not held off";
  EXPECT_EQ(world.stored().epoch, Epoch(2));
  EXPECT_EQ(ack()->id, "id-2");
}

TEST_F(CandidateCommandTest, ACommandForAnotherEpochIsIgnored) {
  command(ControlKind::kStepDown, 7);
  world.run(20s);
  EXPECT_TRUE(a->leads());
  EXPECT_FALSE(ack().has_value());
  // A command that was meant for this term does not hit the next one.
  command(ControlKind::kStepDown, 1);
  world.run(30s);
  World::Node* const successor = world.leader();
  ASSERT_TRUE(successor == b || successor == c);
  world.run(5min);
  EXPECT_EQ(world.leader(), successor);
  EXPECT_EQ(world.stored().epoch, Epoch(2));
}

TEST_F(CandidateCommandTest, ANodeThatWasAskedToStepDownLeadsAgainWhenNobodyElseDoes) {
  world.kill(*b);
  world.kill(*c);
  a->tell([](Candidate& candidate) { candidate.step_down({}); });
  world.run(5s);
  EXPECT_FALSE(a->leads());
  world.run(4s);
  EXPECT_TRUE(a->leads());
}

// C10: one timer per purpose: checks do not multiply with failovers.
TEST_F(CandidateCommandTest, ChecksDoNotMultiplyWithFailovers) {
  for (int i = 0; i < 10; ++i) {
    world.leader()->tell([](Candidate& candidate) { candidate.step_down({}); });
    world.run(18s);
    ASSERT_NE(world.leader(), nullptr);
  }
  const std::size_t checks = c->saw<telemetry::ElectionCheck>().size();
  EXPECT_GE(checks, 37u);
  EXPECT_LE(checks, 38u) << "190 s, a check every 5 s";
}

// C13: every telemetry event of the design is observed, with its time and its node.
TEST_F(CandidateCommandTest, EveryTelemetryEventIsToldWithTimeAndNode) {
  b->tell([](Candidate& candidate) { candidate.set_eligible(false); });
  a->tell([](Candidate& candidate) { candidate.stop([] {}); });
  world.run(10s);
  ASSERT_TRUE(c->leads());
  ASSERT_EQ(c->saw<telemetry::LeaderDown>().size(), 1u);
  EXPECT_EQ(c->saw<telemetry::LeaderDown>()[0].former_leader, WorkerId("a"));
  EXPECT_EQ(c->saw<telemetry::LeaderDown>()[0].cause, DownCause::kReleased);
  b->tell([](Candidate& candidate) { candidate.set_eligible(true); });
  world.kill(*c);
  world.run(20s);
  ASSERT_TRUE(b->leads());
  EXPECT_EQ(b->saw<telemetry::LeaderDown>().back().former_leader, WorkerId("c"));
  EXPECT_EQ(b->saw<telemetry::LeaderDown>().back().cause, DownCause::kExpired);
  EXPECT_EQ(b->saw<telemetry::ElectionCheck>().front().current_leader, WorkerId("a"));
  EXPECT_EQ(a->saw<telemetry::LostLeadership>().at(0).reason, EndReason::kStopped);
  std::set<std::string> names;
  for (const World::Node* node : {a, b}) {
    for (const telemetry::Event& event : node->events) {
      names.insert(telemetry::event_name(event));
      EXPECT_EQ(event.node, WorkerId(node == a ? "a" : "b"));
      EXPECT_GT(to_ms(event.time), 0);
      const std::string json = telemetry::to_json(event);
      EXPECT_NE(json.find("\"event\":\"" + std::string(telemetry::event_name(event)) + "\""),
                std::string::npos);
    }
  }
  for (const char* name :
       {"became_leader", "lost_leadership", "leader_down", "leader_alive", "leader_changed",
        "election_check", "election_started", "state_changed"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST_F(CandidateCommandTest, MetricsCountWhatWasTold) {
  a->tell([](Candidate& candidate) { candidate.step_down({}); });
  world.run(20s);
  const telemetry::Metrics metrics = a->candidate->metrics();
  EXPECT_EQ(metrics.became_leader, 1u);
  EXPECT_EQ(metrics.lost_leadership.at(EndReason::kSteppedDown), 1u);
  EXPECT_EQ(metrics.elections_started, 1u);
  EXPECT_EQ(metrics.leader_changes, a->saw<telemetry::LeaderChanged>().size());
  EXPECT_EQ(metrics.election_checks, a->saw<telemetry::ElectionCheck>().size());
  std::uint64_t downs = 0;
  for (const auto& [cause, count] : b->candidate->metrics().leader_down) downs += count;
  EXPECT_EQ(downs, b->saw<telemetry::LeaderDown>().size());
  EXPECT_EQ(downs, 1u);
}

TEST_F(CandidateCommandTest, WhetherTheStoreAnswersIsWhatItsLastLookSays) {
  EXPECT_TRUE(c->candidate->store_answers());
  c->store->set_cut_off(true);
  world.run(10s);
  EXPECT_FALSE(c->candidate->store_answers());
  c->store->set_cut_off(false);
  world.run(10s);
  EXPECT_EQ(c->state(), CandidateState::kStandby);
  EXPECT_TRUE(c->candidate->store_answers());
}

TEST_F(CandidateCommandTest, AStoreThatIsNotReachedIsTheCauseToldForItsLeader) {
  c->store->set_cut_off(true);
  world.run(20s);
  ASSERT_EQ(c->saw<telemetry::LeaderDown>().size(), 1u);
  EXPECT_EQ(c->saw<telemetry::LeaderDown>()[0].cause, DownCause::kUnreachable);
  EXPECT_EQ(c->state(), S::kStandby);
  EXPECT_EQ(c->candidate->current_leader(), std::nullopt);
  c->store->set_cut_off(false);
  world.run(5s);
  EXPECT_EQ(c->candidate->current_leader(), WorkerId("a"));
  EXPECT_TRUE(a->leads());
}

// C11: the watcher follows the leadership through restarts under the same name.
TEST_F(CandidateCommandTest, AWatcherFollowsALeaderThatRestartsUnderItsName) {
  bool stopped = false;
  for (std::uint64_t epoch = 2; epoch <= 4; ++epoch) {
    for (World::Node* node : {b, c}) {
      node->tell([](Candidate& candidate) { candidate.set_eligible(false); });
    }
    stopped = false;
    a->tell([&](Candidate& candidate) { candidate.stop([&] { stopped = true; }); });
    world.run_until([&] { return stopped; }, 10s);
    world.kill(*a);
    world.begin(*a, "a");
    world.run(10s);
    EXPECT_EQ(c->candidate->current_leader(), WorkerId("a"));
    EXPECT_EQ(c->candidate->epoch(), Epoch(epoch));
    EXPECT_EQ(c->saw<telemetry::LeaderDown>().size(), epoch - 1);
  }
}

// Anyone who is about to hand over to a node can see in its file that it would not take over.
TEST(CandidateTest, ANodeThatStandsAsideSaysSoInItsFile) {
  World world;
  auto& a = world.add("a");
  world.options.eligible = false;
  world.add("watcher");
  world.options.eligible = true;
  world.run(10s);
  const auto says = [&](const char* id) {
    return decode_worker(world.body(world.keys.worker(WorkerId(id))))->aside;
  };
  EXPECT_EQ(says("a"), "");
  EXPECT_EQ(says("watcher"), "ineligible");
  a.tell([](Candidate& candidate) { candidate.pause(); });
  world.run(5s);
  EXPECT_EQ(says("a"), "paused");
  a.tell([](Candidate& candidate) { candidate.resume(); });
  world.run_until([&] { return a.leads(); }, 60s);
  world.run(5s);
  EXPECT_EQ(says("a"), "");
}

}  // namespace candidate_command_test
}  // namespace muster
