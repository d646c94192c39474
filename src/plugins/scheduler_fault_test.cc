#include <gtest/gtest.h>

#include <utility>

#include "plugins/scheduler.h"
#include "plugins/scheduler_scene.h"

// Answers that are lost, late or wrong, and leaders that do not know that they have been replaced.
namespace muster {
namespace scheduler_fault_test {

using SchedulerFaultTest = SchedulerTest;

TEST_F(SchedulerFaultTest, AnUnclearClaimIsReadBackAndStartedOnce) {
  for (const Fault fault : {Fault::kLanded, Fault::kLost, Fault::kConflict, Fault::kUnavailable}) {
    Stage stage;
    stage.clock.set_wall(kStart);
    std::vector<WallTime> runs;
    Worker a(stage, 1, runs);
    const auto term = stage.term(1);
    a.lead(*term);
    stage.clock.set_wall(minute(1));
    a.fail_put(1, fault);
    a.work(*term);
    EXPECT_EQ(runs.size(), fault == Fault::kLanded ? 1 : 0) << "read back at once";
    a.work(*term);
    EXPECT_EQ(runs, std::vector{minute(1)});
  }
}

// S01: a failed compare-and-swap starts nothing.
TEST_F(SchedulerFaultTest, AClaimThatAnotherLeaderWonIsNotStarted) {
  Worker a(stage_, 1, runs_);
  Worker b(stage_, 2, runs_);
  const auto first = stage_.term(1);
  a.lead(*first);
  const auto second = stage_.term(2);
  b.lead(*second);
  stage_.clock.set_wall(minute(1));
  // The claim of the leader before lands just ahead of this one's.
  b.process.store.hook = [&, done = false](const Call& call) mutable {
    if (call.kind != Call::Kind::kPut || std::exchange(done, true)) return Fault::kNone;
    RunRecord theirs = *decode_run_record(call.body);
    theirs.epoch = Epoch(1);
    theirs.nonce = Nonce("theirs");
    EXPECT_TRUE(stage_.objects().put(kKey, encode(theirs), Precondition::none(), {}, MonoTime{}));
    return Fault::kNone;
  };
  b.work(*second);
  b.work(*second);
  EXPECT_TRUE(runs_.empty()) << "the other one may have started it";
  EXPECT_EQ(b.scheduler->metrics().interrupted, 1);
}

TEST_F(SchedulerFaultTest, AClaimThatLandsLateIsKnownAgain) {
  Worker a(stage_, 1, runs_);
  const auto term = stage_.term(1);
  a.lead(*term);
  stage_.clock.set_wall(minute(1));
  a.fail_put(1, Fault::kLate);
  a.work(*term);
  EXPECT_TRUE(runs_.empty());
  stage_.land_late(a.process);
  EXPECT_EQ(outcome(), "claimed");
  // Meanwhile the next one is due as well: another body, and both are run.
  stage_.clock.set_wall(minute(2) - 1s);
  a.work(*term);
  a.work(*term);
  stage_.clock.set_wall(minute(2));
  a.work(*term);
  EXPECT_EQ(runs_, (std::vector{minute(1), minute(2)}));
  EXPECT_EQ(a.scheduler->metrics().interrupted, 0);
}

TEST_F(SchedulerFaultTest, AnOutcomeThatWasLostIsRememberedByTheProcessThatRanIt) {
  for (const Fault fault : {Fault::kLost, Fault::kLanded, Fault::kLate, Fault::kUnavailable}) {
    Stage stage;
    stage.clock.set_wall(kStart);
    std::vector<WallTime> runs;
    ScheduledJob spec;
    spec.interrupted = InterruptedRuns::kRerun;
    Worker a(stage, 1, runs, spec);
    const auto term = stage.term(1);
    a.lead(*term);
    stage.clock.set_wall(minute(1));
    a.fail_put(2, fault);
    a.work(*term);
    stage.land_late(a.process);
    a.work(*term);
    stage.clock.set_wall(minute(2));
    a.work(*term);
    a.work(*term);
    EXPECT_EQ(runs, (std::vector{minute(1), minute(2)}));
    EXPECT_EQ(a.scheduler->metrics().interrupted, 0);
  }
}

// S08: dispatch stamps, receipt checks.
TEST_F(SchedulerFaultTest, ATermThatEndsBetweenClaimAndStartHandsTheRunBack) {
  for (const bool by_epoch : {false, true}) {
    Stage stage;
    stage.clock.set_wall(kStart);
    std::vector<WallTime> runs;
    Worker a(stage, 1, runs);
    Worker b(stage, 2, runs);
    const auto first = stage.term(1);
    a.lead(*first);
    stage.clock.set_wall(minute(1));
    a.process.store.hook = [&](const Call& call) {
      if (call.kind == Call::Kind::kPut && by_epoch) a.scheduler->learn_epoch(Epoch(2));
      if (call.kind == Call::Kind::kPut && !by_epoch) first->close();
      return Fault::kNone;
    };
    a.work(*first);
    EXPECT_TRUE(runs.empty());
    EXPECT_EQ(a.scheduler->metrics().returned, 1);
    a.work(*first);
    EXPECT_EQ(a.scheduler->metrics().returned, 1) << "claims no more";
    const auto second = stage.term(2);
    b.lead(*second);
    EXPECT_EQ(runs, std::vector{minute(1)});
  }
}

TEST_F(SchedulerFaultTest, AReplacedLeaderWithAnOpenGuardIsRefused) {
  Worker a(stage_, 1, runs_);
  Worker b(stage_, 2, runs_);
  const auto first = stage_.term(1);
  a.lead(*first);
  const auto second = stage_.term(2);
  b.lead(*second);
  stage_.clock.set_wall(minute(1));
  b.work(*second);
  // Its guard is wrongly open, as with a broken clock; the record stops it all the same.
  a.work(*first);
  stage_.clock.set_wall(minute(2));
  a.work(*first);
  a.work(*first);
  EXPECT_EQ(runs_, std::vector{minute(1)});
  EXPECT_EQ(a.scheduler->metrics().refused, 1);
  EXPECT_EQ(a.scheduler->epoch_drift_events(), 1u);
}

}  // namespace scheduler_fault_test
}  // namespace muster
