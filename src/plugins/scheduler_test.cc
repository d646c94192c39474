#include "plugins/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <stdexcept>

#include "plugins/scheduler_scene.h"

namespace muster {
namespace scheduler_test {

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
// R46: last_due never falls, or what ran before the clock was set back would run again.
TEST_F(SchedulerTest, AScheduleChangedAfterTheClockWasSetBackRunsNothingAgain) {
  Worker before(stage_, 1, runs_);
  const auto first = stage_.term(1);
  before.lead(*first);
  stage_.clock.set_wall(minute(5));
  before.work(*first);
  const auto ran = runs_;
  ASSERT_FALSE(ran.empty());
  stage_.clock.set_wall(minute(2));
  ScheduledJob changed;
  changed.cron = "0-59 * * * *";  // Written otherwise; the due times are the same.
  changed.missed = MissedRuns::kRunAll;
  Worker after(stage_, 2, runs_, changed);
  const auto second = stage_.term(2);
  after.lead(*second);
  stage_.clock.set_wall(minute(5));
  after.work(*second);
  EXPECT_EQ(runs_, ran);
  stage_.clock.set_wall(minute(6));
  after.work(*second);
  EXPECT_EQ(runs_.size(), ran.size() + 1);
  EXPECT_EQ(runs_.back(), minute(6));
}

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

}  // namespace scheduler_test
}  // namespace muster
