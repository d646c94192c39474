#include "candidate/supervised_work.h"

#include <gtest/gtest.h>

#include "candidate/process_test_scene.h"

namespace muster {
namespace supervised_work_test {

/// A tree of commands as the candidate sees it.
struct SupervisedWorkTest : testing::ProcessScene {
  SupervisedWorkTest() {
    options.name = "billing";
    options.node = "node-a";
    options.supervision.backoff_min = 5ms;
    options.supervision.stop_budget = 400ms;
    options.supervision.kill_margin = 1s;
  }
  ~SupervisedWorkTest() override { work.reset(); }

  void start(const std::string& script, Duration lease = 60s) {
    ChildSpec child{"job", shell(script)};
    child.rules.shutdown = grace;
    Supervisor::Callbacks observer;
    observer.child_started = [this](const std::string&, pid_t pid) { command = pid; };
    work = std::make_unique<SupervisedWork>(loop, options, std::vector{child}, observer);
    guard = std::make_shared<LeaseGuard>(loop, Epoch(3), loop.now() + lease);
    work->start(
        Epoch(3), guard, [this] { ready = true; },
        [this](std::string why) {
          failed = std::move(why);
          left_at_failure = work->running();
        });
  }
  void stop(Duration by) {
    work->stop(loop.now() + by, [this](bool given) {
      EXPECT_FALSE(receipt) << "told twice";
      receipt = given;
      left = living().size();
    });
  }
  bool is_ready() {
    return until([this] { return ready && command != 0; });
  }
  bool stopped() {
    return until([this] { return receipt.has_value(); });
  }

  SupervisorOptions options;
  Duration grace = 300ms;
  std::unique_ptr<SupervisedWork> work;
  std::shared_ptr<LeaseGuard> guard;
  bool ready = false;
  pid_t command = 0;
  std::optional<std::string> failed;
  bool left_at_failure = false;
  std::optional<bool> receipt;
  std::size_t left = 99;
};

// C09, G2: the receipt comes when nothing is left, and not before.
TEST_F(SupervisedWorkTest, TheReceiptComesWhenTheLastProcessHasGone) {
  start("trap '' TERM; $ENDLESS & $ENDLESS; :");
  ASSERT_TRUE(is_ready());
  stop(100ms);
  ASSERT_TRUE(stopped());
  EXPECT_EQ(receipt, true);
  EXPECT_EQ(left, 0u);
  EXPECT_FALSE(failed) << "a stop that was asked for is no failure";
}

// All of the time until `by` is for those who end when they are asked.
TEST_F(SupervisedWorkTest, ACommandThatEndsInTimeIsNotKilled) {
  const std::string up = folder + "muster-work-up-" + word_;
  const std::string down = folder + "muster-work-down-" + word_;
  grace = 20s;
  start("trap 'sleep 0.15; : > " + down + "; exit' TERM; : > " + up +
        "; while :; do sleep 0.01; done");
  ASSERT_TRUE(until([&] { return std::filesystem::exists(up); }));
  stop(20s);
  ASSERT_TRUE(stopped());
  EXPECT_TRUE(std::filesystem::remove(down));
  EXPECT_TRUE(std::filesystem::remove(up));
}

// C09: a stop is given the graces of all children, one after the other.
TEST_F(SupervisedWorkTest, AnOrderlyStopNeedsEveryGraceAndTimeForTheKilledToDie) {
  ChildSpec slow{"slow", shell(":")};
  slow.rules.shutdown = 1200ms;
  ChildSpec brief{"brief", shell(":")};
  brief.rules.shutdown.reset();
  options.supervision.kill_margin = 600ms;
  EXPECT_EQ(SupervisedWork(loop, options, {slow}).stop_time(), 1200ms);
  EXPECT_EQ(SupervisedWork(loop, options, {slow, brief, slow}).stop_time(), 3600ms);
}

// C03, P05: with the lease the right to a grace is lost; someone else may have begun.
TEST_F(SupervisedWorkTest, ALostLeaseKillsAtOnce) {
  grace = 20s;
  start("trap '' TERM; $ENDLESS; :");
  ASSERT_TRUE(is_ready());
  const MonoTime lost = loop.now();
  guard->close();
  work->deadline_moved(lost);
  stop(0s);
  ASSERT_TRUE(stopped());
  EXPECT_EQ(receipt, true);
  EXPECT_LT(loop.now() - lost, grace);
}

// C16: a tree that has failed says so, and has its receipt for the stop that follows.
TEST_F(SupervisedWorkTest, AFailedTreeIsToldAndGivesItsReceiptWhenAsked) {
  start("exit 9");
  ASSERT_TRUE(until([this] { return failed && !work->running(); }));
  EXPECT_EQ(*failed, "job: exited with code 9");
  stop(1s);
  ASSERT_TRUE(stopped());
  EXPECT_EQ(receipt, true);
}

// C08: likewise one that cannot be started.
TEST_F(SupervisedWorkTest, ACommandThatCannotBeStartedIsAFailure) {
  ChildSpec child{"job", Command{.argv = {"no-such-command-anywhere"}}};
  work = std::make_unique<SupervisedWork>(loop, options, std::vector{child});
  guard = std::make_shared<LeaseGuard>(loop, Epoch(3), loop.now() + 60s);
  work->start(
      Epoch(3), guard, [this] { ready = true; },
      [this](std::string why) { failed = std::move(why); });
  ASSERT_TRUE(until([this] { return failed.has_value(); }));
  EXPECT_FALSE(ready);
  stop(1s);
  ASSERT_TRUE(stopped());
  EXPECT_EQ(receipt, true);
}

// G2, G3: what cannot be proven to be gone gives no receipt.
TEST_F(SupervisedWorkTest, AGuardianThatIsKilledGivesNoReceipt) {
  start("$ENDLESS; :");
  ASSERT_TRUE(is_ready());
  ProcessTable table;
  table.look();
  for (const ProcessEntry& each : table.all()) {
    if (each.pid == command) ::kill(each.parent, SIGKILL);
  }
  ASSERT_TRUE(until([this] { return failed.has_value(); }));
  stop(1s);
  ASSERT_TRUE(stopped());
  EXPECT_EQ(receipt, false);
  EXPECT_EQ(left, 0u);
}

// G3: the term is given up while the rest of the command is still there.
TEST_F(SupervisedWorkTest, WhatCannotBeKilledFailsTheWorkBeforeItIsGone) {
  start("$ENDLESS; :");
  ASSERT_TRUE(is_ready());
  const std::string mark = assignment_of(command, "MUSTER_GUARDIAN");
  const auto entry = look_at(command);
  ASSERT_TRUE(entry);
  ::kill(entry->parent, SIGKILL);
  EXPECT_TRUE(until_beside(mark, [this] { return failed.has_value(); }));
  EXPECT_EQ(failed.value_or(""), "job: cannot be ended");
  EXPECT_TRUE(left_at_failure);
  stop(1s);
  ASSERT_TRUE(stopped());
  EXPECT_EQ(receipt, false);
}

TEST_F(SupervisedWorkTest, OneTermFollowsAnother) {
  start("$ENDLESS; :");
  ASSERT_TRUE(is_ready());
  stop(1s);
  ASSERT_TRUE(stopped());
  receipt.reset();
  ready = false;
  guard = std::make_shared<LeaseGuard>(loop, Epoch(4), loop.now() + 60s);
  work->start(
      Epoch(4), guard, [this] { ready = true; }, [](const std::string&) {});
  ASSERT_TRUE(is_ready());
  work->kill();
  stop(5s);
  ASSERT_TRUE(stopped());
  EXPECT_EQ(receipt, true);
}

}  // namespace supervised_work_test
}  // namespace muster
