#include "plugins/scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "plugins/test_stage.h"

namespace muster {
namespace {

using stage::Call;
using stage::Fault;
using stage::Stage;

constexpr const char* kKey = "plugin=scheduler/namespace=test/job=tick.json";
// A Friday; 10:00:30, so that the first minute is half over.
constexpr WallTime kStart = wall_from_ms(1'710'496'830'000);
constexpr WallTime minute(int n) {
  return std::chrono::floor<std::chrono::minutes>(kStart) + std::chrono::minutes(n);
}

struct Worker {
  Worker(Stage& stage, std::uint64_t seed, std::vector<WallTime>& runs, ScheduledJob spec = {})
      : process(stage.process()),
        scheduler(std::make_unique<Scheduler>(process.sync, "test", Random(seed))) {
    scheduler->attach(stage.clock, {});
    spec.name = "tick";
    if (spec.cron.empty()) spec.cron = "* * * * *";
    if (!spec.run) spec.run = [&runs](const ScheduledRun& run) { runs.push_back(run.due); };
    EXPECT_TRUE(scheduler->add(spec));
  }
  void lead(const LeaseGuard& guard) {
    scheduler->learn_epoch(guard.epoch());
    scheduler->on_become_coordinator(guard);
    scheduler->coordinator_work(guard);
  }
  void work(const LeaseGuard& guard) { scheduler->coordinator_work(guard); }
  /// The nth put from now on, counted from 1, meets `fault`.
  void fail_put(int nth, Fault fault) {
    process.store.hook = [left = nth, fault](const Call& call) mutable {
      return call.kind == Call::Kind::kPut && --left == 0 ? fault : Fault::kNone;
    };
  }

  Stage::Process& process;
  std::unique_ptr<Scheduler> scheduler;
};

class SchedulerTest : public testing::Test {
 protected:
  SchedulerTest() { stage_.clock.set_wall(kStart); }
  [[nodiscard]] std::string outcome() {
    return nlohmann::json::parse(stage_.body(kKey)).value("outcome", "");
  }

  Stage stage_;
  std::vector<WallTime> runs_;
};

TEST_F(SchedulerTest, RunsEachDueTimeOnceAndNothingBefore) {
  Worker a(stage_, 1, runs_);
  const auto term = stage_.term(1);
  a.lead(*term);
  EXPECT_TRUE(runs_.empty()) << "a new job has missed nothing";
  stage_.clock.set_wall(minute(1));
  a.work(*term);
  a.work(*term);
  stage_.clock.set_wall(minute(2) + 1s);
  a.work(*term);
  EXPECT_EQ(runs_, (std::vector{minute(1), minute(2)}));
  EXPECT_EQ(outcome(), "succeeded");
  EXPECT_EQ(a.scheduler->metrics().started, 2);
}

TEST_F(SchedulerTest, AsksTheStoreNothingWhileNothingIsDue) {
  Worker a(stage_, 1, runs_);
  const auto term = stage_.term(1);
  a.lead(*term);
  std::atomic<int> calls = 0;
  a.process.store.hook = [&](const Call&) { return ++calls, Fault::kNone; };
  for (int i = 0; i < 20; ++i) a.work(*term);
  EXPECT_EQ(calls, 0);
  stage_.clock.set_wall(minute(1));
  a.work(*term);
  EXPECT_EQ(calls, 2) << "the claim and the outcome";
}

TEST_F(SchedulerTest, TheNextLeaderGoesOnWhereTheLastOneStopped) {
  Worker a(stage_, 1, runs_);
  Worker b(stage_, 2, runs_);
  const auto first = stage_.term(1);
  a.lead(*first);
  stage_.clock.set_wall(minute(1));
  a.work(*first);
  first->close();
  const auto second = stage_.term(2);
  b.lead(*second);
  EXPECT_EQ(runs_, std::vector{minute(1)});
  stage_.clock.set_wall(minute(2));
  a.work(*first);
  b.work(*second);
  EXPECT_EQ(runs_, (std::vector{minute(1), minute(2)}));
}

TEST_F(SchedulerTest, MissedRunsFollowThePolicy) {
  const std::map<MissedRuns, std::vector<WallTime>> expected = {
      {MissedRuns::kSkip, {minute(10)}},
      {MissedRuns::kRunOnce, {minute(9), minute(10)}},
      {MissedRuns::kRunAll, {minute(7), minute(8), minute(9), minute(10)}},
  };
  for (const auto& [policy, due] : expected) {
    Stage stage;
    stage.clock.set_wall(kStart);
    std::vector<WallTime> runs;
    ScheduledJob spec;
    spec.missed = policy;
    spec.run_all_max = 3;
    Worker a(stage, 1, runs, spec);
    const auto term = stage.term(1);
    a.lead(*term);
    stage.clock.set_wall(minute(10) + 10s);
    a.work(*term);
    a.work(*term);
    EXPECT_EQ(runs, due);
    EXPECT_EQ(a.scheduler->metrics().dropped, 1);
  }
}

TEST_F(SchedulerTest, AMissedRunIsFoundHoweverLongAgo) {
  ScheduledJob spec;
  spec.cron = "0 0 1 1 *";
  Worker a(stage_, 1, runs_, spec);
  const auto term = stage_.term(1);
  a.lead(*term);
  stage_.clock.set_wall(kStart + 24h * 365 * 3);
  a.work(*term);
  ASSERT_EQ(runs_.size(), 1);
  EXPECT_EQ(to_ms(runs_[0]), 1'798'761'600'000) << "2027-01-01";
}

// S10: a clock that jumps changes no run into two.
TEST_F(SchedulerTest, AClockThatIsSetBackRunsNothingAgain) {
  Worker a(stage_, 1, runs_);
  Worker b(stage_, 2, runs_);
  const auto first = stage_.term(1);
  a.lead(*first);
  stage_.clock.set_wall(minute(60));
  a.work(*first);
  const std::size_t before = runs_.size();
  stage_.clock.set_wall(minute(1));
  a.work(*first);
  const auto second = stage_.term(2);
  b.lead(*second);
  for (int i = 2; i <= 60; ++i) {
    stage_.clock.set_wall(minute(i));
    b.work(*second);
  }
  EXPECT_EQ(runs_.size(), before);
  stage_.clock.set_wall(minute(61));
  b.work(*second);
  EXPECT_EQ(runs_.back(), minute(61));
}

TEST_F(SchedulerTest, AnInterruptedRunIsSkippedUnlessItShallRerun) {
  for (const auto policy : {InterruptedRuns::kSkip, InterruptedRuns::kRerun}) {
    Stage stage;
    stage.clock.set_wall(kStart);
    std::vector<WallTime> runs;
    ScheduledJob spec;
    spec.interrupted = policy;
    Worker a(stage, 1, runs, spec);
    Worker b(stage, 2, runs, spec);
    const auto first = stage.term(1);
    a.lead(*first);
    stage.clock.set_wall(minute(1));
    // The process dies in the run: its outcome never arrives.
    a.fail_put(2, Fault::kUnavailable);
    a.work(*first);
    ASSERT_EQ(runs.size(), 1);
    const auto second = stage.term(2);
    b.lead(*second);
    EXPECT_EQ(runs.size(), policy == InterruptedRuns::kSkip ? 1 : 2);
    EXPECT_EQ(b.scheduler->metrics().interrupted, 1);
    const auto third = stage.term(3);
    b.lead(*third);
    EXPECT_EQ(b.scheduler->metrics().interrupted, 1) << "reported once";
    stage.clock.set_wall(minute(2));
    b.work(*third);
    EXPECT_EQ(runs.back(), minute(2));
  }
}

TEST_F(SchedulerTest, ARunThatKillsEveryLeaderIsGivenUp) {
  ScheduledJob spec;
  spec.interrupted = InterruptedRuns::kRerun;
  std::vector<std::uint64_t> attempts;
  spec.run = [&](const ScheduledRun& run) { attempts.push_back(run.attempt); };
  { Worker(stage_, 1, runs_, spec).lead(*stage_.term(1)); }
  stage_.clock.set_wall(minute(1));
  for (std::uint64_t epoch = 2; epoch < 8; ++epoch) {
    Worker victim(stage_, epoch, runs_, spec);
    const auto term = stage_.term(epoch);
    victim.fail_put(2, Fault::kUnavailable);
    victim.lead(*term);
  }
  EXPECT_EQ(attempts, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(SchedulerTest, AnUnclearClaimIsReadBackAndStartedOnce) {
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
TEST_F(SchedulerTest, AClaimThatAnotherLeaderWonIsNotStarted) {
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

TEST_F(SchedulerTest, AClaimThatLandsLateIsKnownAgain) {
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

TEST_F(SchedulerTest, AnOutcomeThatWasLostIsRememberedByTheProcessThatRanIt) {
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
TEST_F(SchedulerTest, ATermThatEndsBetweenClaimAndStartHandsTheRunBack) {
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

TEST_F(SchedulerTest, AReplacedLeaderWithAnOpenGuardIsRefused) {
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
}

TEST_F(SchedulerTest, ARunThatThrowsIsReportedAndTheScheduleGoesOn) {
  ScheduledJob spec;
  int calls = 0;
  spec.run = [&](const ScheduledRun&) {
    if (++calls == 1) throw std::runtime_error("no");
    throw 42;
  };
  Worker a(stage_, 1, runs_, spec);
  const auto term = stage_.term(1);
  a.lead(*term);
  for (int i = 1; i <= 2; ++i) {
    stage_.clock.set_wall(minute(i));
    a.work(*term);
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(a.scheduler->metrics().failed, 2);
  EXPECT_EQ(outcome(), "failed");
}

TEST_F(SchedulerTest, AChangedScheduleHasMissedNothing) {
  ScheduledJob spec;
  spec.cron = "0 0 1 1 *";
  const auto first = stage_.term(1);
  { Worker(stage_, 1, runs_, spec).lead(*first); }
  stage_.clock.set_wall(minute(500));
  Worker b(stage_, 2, runs_);
  const auto second = stage_.term(2);
  b.lead(*second);
  EXPECT_TRUE(runs_.empty());
  stage_.clock.set_wall(minute(501));
  b.work(*second);
  EXPECT_EQ(runs_, std::vector{minute(501)});
}

// S18: a foreign or damaged record is reported and recovered from.
TEST_F(SchedulerTest, ACorruptRecordBeginsAnewFromNow) {
  for (const char* body : {"", "[]", "{}", R"({"lastDue":"x"})",
                           R"({"cron":"* * * * *","zone":"UTC","lastDue":99999999999999999,
                               "previousDue":0,"epoch":1,"attempt":1,"nonce":"n",
                               "outcome":"scheduled"})"}) {
    Stage stage;
    stage.clock.set_wall(kStart);
    stage.with_objects([&](MemoryObjects& objects) {
      (void)objects.put(kKey, body, Precondition::none(), {}, MonoTime{});
    });
    std::vector<WallTime> runs;
    Worker a(stage, 1, runs);
    const auto term = stage.term(1);
    a.lead(*term);
    stage.clock.set_wall(minute(1));
    a.work(*term);
    EXPECT_EQ(runs, std::vector{minute(1)}) << body;
  }
}

TEST_F(SchedulerTest, RefusesJobsThatCannotBe) {
  Scheduler scheduler(stage_.process().sync, "test");
  const auto run = [](const ScheduledRun&) {};
  ASSERT_TRUE(scheduler.add({"a", "* * * * *", "UTC", run}));
  EXPECT_TRUE(scheduler.add({"a", "* * * * *", "UTC", run}).is(Errc::kInvalid)) << "twice";
  EXPECT_TRUE(scheduler.add({"b/c", "* * * * *", "UTC", run}).is(Errc::kInvalid));
  EXPECT_TRUE(scheduler.add({"", "* * * * *", "UTC", run}).is(Errc::kInvalid));
  EXPECT_TRUE(scheduler.add({"b", "* * * *", "UTC", run}).is(Errc::kInvalid));
  EXPECT_TRUE(scheduler.add({"b", "* * * * *", "Mars/Olympus", run}).is(Errc::kNotFound));
  EXPECT_TRUE(scheduler.add({"b", "* * * * *", "UTC", {}}).is(Errc::kInvalid));
}

}  // namespace
}  // namespace muster
