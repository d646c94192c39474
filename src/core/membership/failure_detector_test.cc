#include "core/membership/failure_detector.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/membership/testing.h"

namespace muster::membership {
namespace failure_detector_test {

using namespace testing;  // NOLINT: the words of this module's tests.
using enum NodeState;

/// A leader with its fleet, second by second: living nodes beat every 10 s, the detector ticks
/// every second, and what it decides is applied at once.
class FailureDetectorTest : public ::testing::Test {
 protected:
  void start(int nodes) {
    for (int i = 0; i < nodes; ++i) add("n" + std::to_string(i));
    elect();
    // Past the grace, so that a test sees the ordinary rules unless it elects anew.
    run(100);
    verdicts_ = {};
  }
  void add(const std::string& id, unsigned generation = 1) {
    apply(registration(id, generation));
    apply(beat(topology_, id));
    if (detector_) detector_->heartbeat(*topology_.find(NodeId(id)), now());
    alive_.insert(id);
  }
  void elect() { detector_ = std::make_unique<FailureDetector>(options_, topology_, now()); }
  void apply(const Command& command) {
    ASSERT_TRUE(topology_.apply(command, at(seconds_ + skew_)).outcome) << name(command);
  }
  void hear(const std::string& id) {
    const NodeEntry* node = topology_.find(NodeId(id));
    if (node == nullptr || !topology_.check_heartbeat(node->id, node->generation)) return;
    detector_->heartbeat(*node, now());
    apply(beat(topology_, id, reports_.count(id) ? reports_[id] : kActive));
  }
  Verdict tick() {
    Verdict verdict = detector_->tick(topology_, now());
    for (const Finding& decision : verdict.findings) {
      verdicts_.push_back(decision);
      if (applying_) apply(decision.command);
    }
    return verdict;
  }
  /// Lets time pass; returns the last verdict.
  Verdict run(int seconds) {
    Verdict verdict;
    for (int i = 0; i < seconds; ++i) {
      ++seconds_;
      if (seconds_ % 10 == 0) {
        for (const std::string& id : alive_) hear(id);
      }
      verdict = tick();
    }
    return verdict;
  }
  /// The node beats for the last time now.
  void dies(const std::string& id) {
    hear(id);
    alive_.erase(id);
  }
  void all_die() {
    const std::set<std::string> all = alive_;
    for (const std::string& id : all) dies(id);
  }
  NodeState state_of(const std::string& id) { return state(topology_, id); }
  MonoTime now() const { return MonoTime(1000h) + std::chrono::seconds(seconds_); }

  Options options_;
  Topology topology_;
  std::unique_ptr<FailureDetector> detector_;
  std::set<std::string> alive_;
  std::map<std::string, NodeState> reports_;
  std::vector<Finding> verdicts_;
  bool applying_ = true;
  std::int64_t seconds_ = 0;
  std::int64_t skew_ = 0;  ///< How far the leader's wall clock is off.
};

TEST_F(FailureDetectorTest, LivingNodesAreLeftAlone) {
  start(5);
  run(1000);
  EXPECT_TRUE(verdicts_.empty());
}

TEST_F(FailureDetectorTest, SilenceMakesANodeSuspectAt45SecondsAndDownAt90) {
  start(5);
  dies("n1");
  run(44);
  EXPECT_EQ(state_of("n1"), kActive);
  run(1);
  EXPECT_EQ(state_of("n1"), kSuspect);
  run(44);
  EXPECT_EQ(state_of("n1"), kSuspect);
  run(1);
  EXPECT_EQ(state_of("n1"), kDown);
  run(500);
  EXPECT_EQ(verdicts_.size(), 2U);
}

TEST_F(FailureDetectorTest, AHeartbeatMakesASuspectActiveAndStartsSilenceAnew) {
  start(5);
  dies("n1");
  run(80);
  EXPECT_EQ(state_of("n1"), kSuspect);
  hear("n1");
  EXPECT_EQ(state_of("n1"), kActive);
  run(44);
  EXPECT_EQ(state_of("n1"), kActive);
  run(46);
  EXPECT_EQ(state_of("n1"), kDown);
}

TEST_F(FailureDetectorTest, ADecisionSaysWhatItWasBasedOn) {
  start(10);
  dies("n3");
  const LogTime last = topology_.log_time();
  run(90);
  ASSERT_EQ(verdicts_.size(), 2U);
  const Finding& suspect = verdicts_[0];
  EXPECT_EQ(suspect.from, kActive);
  EXPECT_EQ(suspect.cause.last_heartbeat_at, topology_.label(last));
  EXPECT_EQ(suspect.cause.silence, 45s);
  EXPECT_EQ(suspect.cause.timeouts.suspect_after, 45s);
  EXPECT_FALSE(suspect.cause.timeouts.damped);
  const Finding& down = verdicts_[1];
  ASSERT_TRUE(std::holds_alternative<MarkDown>(down.command));
  EXPECT_EQ(std::get<MarkDown>(down.command).seen.id, NodeId("n3"));
  EXPECT_EQ(std::get<MarkDown>(down.command).seen.last_heartbeat_at, last);
  EXPECT_EQ(down.from, kSuspect);
  EXPECT_EQ(down.cause.silence, 90s);
  EXPECT_EQ(down.cause.timeouts.down_after, 90s);
  EXPECT_EQ(down.cause.timeouts.recent_suspicions, 1U);
  EXPECT_EQ(down.cause.listened, 190s);
  EXPECT_EQ(down.cause.grace, 90s);
  EXPECT_EQ(down.cause.down_allowed, 2U);
  EXPECT_EQ(down.cause.down_in_use, 0U);
}

// P14: flap storms.
TEST_F(FailureDetectorTest, ThreeSuspicionsWithinTenMinutesDoubleTheSuspectTimeout) {
  start(5);
  dies("n1");
  for (int i = 0; i < 3; ++i) {
    run(50);
    ASSERT_EQ(state_of("n1"), kSuspect);
    hear("n1");
  }
  run(89);
  EXPECT_EQ(state_of("n1"), kActive);
  run(1);
  EXPECT_EQ(state_of("n1"), kSuspect);
  EXPECT_TRUE(verdicts_.back().cause.timeouts.damped);
  EXPECT_EQ(verdicts_.back().cause.timeouts.recent_suspicions, 3U);
  EXPECT_EQ(verdicts_.back().cause.timeouts.down_after, 135s);
  run(44);
  EXPECT_EQ(state_of("n1"), kSuspect);
  run(1);
  EXPECT_EQ(state_of("n1"), kDown);
}

TEST_F(FailureDetectorTest, OldSuspicionsDoNotDamp) {
  start(5);
  dies("n1");
  for (int i = 0; i < 3; ++i) {
    run(50);
    hear("n1");
  }
  alive_.insert("n1");
  run(600);
  dies("n1");
  run(45);
  EXPECT_EQ(state_of("n1"), kSuspect);
}

TEST_F(FailureDetectorTest, ADrainingNodeGoesDownByTheSameSilence) {
  start(5);
  reports_["n1"] = kDraining;
  dies("n1");
  EXPECT_EQ(state_of("n1"), kDraining);
  run(89);
  EXPECT_EQ(state_of("n1"), kDraining);
  run(1);
  EXPECT_EQ(state_of("n1"), kDown);
}

// T08: late joiners went DOWN at the next tick.
TEST_F(FailureDetectorTest, ANodeThatNeverJoinsIsRemovedAfterFiveMinutes) {
  start(5);
  apply(registration("late"));
  run(1);
  run(299);
  EXPECT_NE(topology_.find(NodeId("late")), nullptr);
  run(1);
  EXPECT_EQ(topology_.find(NodeId("late")), nullptr);
  ASSERT_EQ(verdicts_.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<RemoveJoining>(verdicts_[0].command));
  EXPECT_EQ(verdicts_[0].cause.silence, 300s);
}

TEST_F(FailureDetectorTest, AnAliveNodeThatStaysJoiningIsRemovedToo) {
  start(5);
  apply(registration("slow"));
  alive_.insert("slow");
  reports_["slow"] = kJoining;
  run(302);
  EXPECT_EQ(topology_.find(NodeId("slow")), nullptr);
}

TEST_F(FailureDetectorTest, TheTimeToJoinGoesOnAcrossAnElectionButNotThroughItsGrace) {
  start(5);
  apply(registration("early"));
  run(100);
  apply(registration("late"));
  run(190);
  elect();
  run(89);
  EXPECT_NE(topology_.find(NodeId("early")), nullptr);
  run(1);
  EXPECT_EQ(topology_.find(NodeId("early")), nullptr);
  run(19);
  EXPECT_NE(topology_.find(NodeId("late")), nullptr);
  run(1);
  EXPECT_EQ(topology_.find(NodeId("late")), nullptr);
}

TEST_F(FailureDetectorTest, AReplacedNodeStartsItsClockAnew) {
  start(5);
  dies("n1");
  run(44);
  apply(registration("n1", 2));
  apply(beat(topology_, "n1"));
  run(45);
  EXPECT_EQ(state_of("n1"), kActive);
}

// T27, P12: a server restart marked healthy nodes down.
TEST_F(FailureDetectorTest, ANewLeaderMarksNobodyDownWithinItsGrace) {
  start(5);
  all_die();
  run(80);
  ASSERT_EQ(state_of("n1"), kSuspect);
  verdicts_.clear();
  elect();
  const Verdict verdict = run(89);
  EXPECT_EQ(verdict.held_by_grace, 5U);
  EXPECT_TRUE(verdicts_.empty());
  run(1);
  EXPECT_EQ(topology_.count(kDown), 1U);
}

// T27: after an outage of all servers, log time and boot time are far ahead of every heartbeat.
TEST_F(FailureDetectorTest, AnOutageOfTheServersIsNobodysSilence) {
  start(5);
  seconds_ += 600;
  topology_.apply(SetRingConfig{{8, 3, {}}, {}}, at(seconds_));
  elect();
  run(300);
  EXPECT_TRUE(verdicts_.empty());
}

// P13: a node that failed during the failover was never fenced.
TEST_F(FailureDetectorTest, ANodeThatDiedBeforeTheElectionIsSeededFromTheLog) {
  start(5);
  dies("n1");
  run(40);
  elect();
  run(29);
  EXPECT_EQ(state_of("n1"), kActive);
  run(1);
  EXPECT_EQ(state_of("n1"), kSuspect);
  EXPECT_EQ(verdicts_.back().cause.silence, 70s);
  run(59);
  EXPECT_EQ(state_of("n1"), kSuspect);
  run(1);
  EXPECT_EQ(state_of("n1"), kDown);
  run(300);
  EXPECT_EQ(verdicts_.size(), 2U);
}

// P26: a leader with a fast clock marked the fleet DOWN, itself or through its successor.
TEST_F(FailureDetectorTest, AClockThatRunsAwayHarmsNobody) {
  for (const std::int64_t skew : {3600, -3600, 365 * 86400}) {
    start(5);
    skew_ = skew;
    topology_.apply(SetRingConfig{{8, 3, {}}, {}}, at(seconds_ + skew_));
    elect();
    run(200);
    skew_ = 0;
    elect();
    run(200);
    EXPECT_TRUE(verdicts_.empty()) << skew;
    for (const std::string& id : std::set<std::string>(alive_)) {
      apply(DeregisterNode{NodeId(id), {}, {}});
    }
    alive_.clear();
  }
}

// P26: what the log says may make a node SUSPECT, but DOWN takes silence that this leader heard.
TEST_F(FailureDetectorTest, SeededSilenceIsBoundedByTheSuspectTimeout) {
  options_.down_timeout = 600s;
  start(5);
  dies("n1");
  topology_.apply(SetRingConfig{{8, 3, {}}, {}}, at(seconds_ + 3600));
  elect();
  run(554);
  EXPECT_EQ(state_of("n1"), kSuspect);
  run(1);
  EXPECT_EQ(state_of("n1"), kDown);
}

// P14, P15: a mass failure moved partitions before the brake engaged.
TEST_F(FailureDetectorTest, TheBrakeHoldsInTheVeryStepOfAMassFailure) {
  start(100);
  all_die();
  run(89);
  EXPECT_EQ(topology_.count(kSuspect), 100U);
  Verdict verdict = run(1);
  EXPECT_EQ(verdict.findings.size(), 20U);
  EXPECT_EQ(verdict.held_by_brake, 80U);
  EXPECT_EQ(topology_.count(kDown), 20U);
  verdict = run(300);
  EXPECT_EQ(topology_.count(kDown), 20U);
  EXPECT_EQ(verdict.held_by_brake, 80U);
  // One window after the DOWNs were seen, a fifth of the eighty that are left may go.
  verdict = run(1);
  EXPECT_EQ(verdict.findings.size(), 16U);
  EXPECT_EQ(topology_.count(kDown), 36U);
}

TEST_F(FailureDetectorTest, TheLongestSilentGoDownFirst) {
  start(10);
  all_die();
  alive_ = {"n1", "n2", "n3", "n4", "n5", "n6", "n8", "n9"};
  run(95);
  ASSERT_EQ(state_of("n0"), kDown);
  ASSERT_EQ(state_of("n7"), kDown);
  dies("n8");
  run(5);
  dies("n2");
  // The brake is still on when both become due; once it is free, one of the eight may go.
  EXPECT_EQ(run(290).held_by_brake, 2U);
  run(3);
  EXPECT_EQ(state_of("n8"), kDown);
  EXPECT_EQ(state_of("n2"), kSuspect);
}

TEST_F(FailureDetectorTest, TheBrakeMeasuresTheFleetAsItWasBeforeTheFailure) {
  start(10);
  dies("n0");
  run(20);
  dies("n1");
  run(90);
  EXPECT_EQ(topology_.count(kDown), 2U);
}

TEST_F(FailureDetectorTest, ANodeThatComesBackFreesTheBrake) {
  start(3);
  dies("n0");
  dies("n1");
  EXPECT_EQ(run(91).held_by_brake, 1U);
  ASSERT_EQ(state_of("n0"), kDown);
  ASSERT_EQ(state_of("n1"), kSuspect);
  add("n0", 2);
  run(1);
  EXPECT_EQ(state_of("n1"), kDown);
}

TEST_F(FailureDetectorTest, ANewLeaderCountsTheDownsOfItsPredecessor) {
  start(10);
  all_die();
  alive_.insert("n0");  // Log time moves on only while someone writes.
  run(90);
  ASSERT_EQ(topology_.count(kDown), 2U);
  run(10);
  elect();
  run(289);
  EXPECT_EQ(topology_.count(kDown), 2U);
  run(1);
  EXPECT_EQ(topology_.count(kDown), 3U);
}

TEST_F(FailureDetectorTest, AProposalThatTookNoEffectIsRepeatedWithoutOverrunningTheBrake) {
  start(10);
  all_die();
  run(89);
  verdicts_.clear();
  applying_ = false;
  run(1);
  EXPECT_EQ(verdicts_.size(), 2U);
  EXPECT_EQ(run(9).held_by_brake, 8U);
  EXPECT_EQ(verdicts_.size(), 2U);
  run(1);
  EXPECT_EQ(verdicts_.size(), 4U);
  EXPECT_EQ(std::get<MarkDown>(verdicts_[2].command), std::get<MarkDown>(verdicts_[0].command));
}

// A leader that was frozen must not take its own absence for the silence of others.
TEST_F(FailureDetectorTest, TimeInWhichTheLeaderDidNotRunDoesNotCount) {
  start(5);
  seconds_ += 3600;
  tick();
  run(9);
  EXPECT_TRUE(verdicts_.empty());
  // A heartbeat that is read before the first tick after the pause buys no extra time.
  seconds_ += 3600 - seconds_ % 10;
  dies("n1");
  tick();
  run(45);
  EXPECT_EQ(state_of("n1"), kSuspect);
}

// Takes about 2 s, and 6 s beside other tests: 90 ticks over 100,000 nodes, one of which suspects
// them all; nothing in it waits.
TEST_F(FailureDetectorTest, AHundredThousandNodesAreOneTick) {
  for (unsigned i = 0; i < 100'000; ++i) {
    topology_.apply(registration("n" + std::to_string(i)), at(0));
  }
  BatchHeartbeat all{topology_.registrations(), {}, {}};
  for (Slot slot = 0; slot < 100'000; ++slot) all.beats.push_back({slot, kActive});
  topology_.apply(all, at(0));
  ASSERT_EQ(topology_.count(kActive), 100'000U);
  elect();
  run(44);
  EXPECT_TRUE(verdicts_.empty());
  run(1);
  EXPECT_EQ(topology_.count(kSuspect), 100'000U);
  run(44);
  const Verdict verdict = run(1);
  EXPECT_EQ(verdict.findings.size(), 20'000U);
  EXPECT_EQ(verdict.held_by_brake, 80'000U);
}

}  // namespace failure_detector_test
}  // namespace muster::membership
