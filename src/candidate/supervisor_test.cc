#include "candidate/supervisor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "candidate/supervisor_test_scene.h"

namespace muster {
namespace supervisor_test {

Status until_stopped(const TaskContext& context) {
  std::atomic<bool> stopped{false};
  const std::stop_callback wake(context.stop, [&] {
    stopped = true;
    stopped.notify_all();
  });
  stopped.wait(false);
  return Done{};
}

using testing::SupervisorTest;

TEST_F(SupervisorTest, ACommandKnowsItsTerm) {
  start({writer("a", "echo $MUSTER_EPOCH $MUSTER_NAME $MUSTER_NODE $MUSTER_LEASE_DEADLINE")});
  ASSERT_TRUE(until([this] { return !written().empty(); }));
  EXPECT_EQ(written().substr(0, written().find('\n')),
            "41 billing node-a " + std::to_string(to_ms(guard->deadline().time_since_epoch())));
  ASSERT_TRUE(stop());
}

// C09, P06: the receipt comes after the last process has gone, and not before.
TEST_F(SupervisorTest, ChildrenStartInOrderStopInReverseAndOnlyThenIsThereAReceipt) {
  const auto script = [](const std::string& name) {
    return "trap 'echo -" + name + "; exit' TERM; echo +" + name + "; while :; do sleep 0.01; done";
  };
  ChildSpec first = writer("a", script("a"));
  first.rules.ready_after = 50ms;
  start({first, writer("b", script("b")), {"task", until_stopped}});
  ASSERT_TRUE(is_ready());
  ASSERT_TRUE(until([this] { return written() == "+a\n+b\n"; }));
  ASSERT_TRUE(stop());
  EXPECT_EQ(written(), "+a\n+b\n-b\n-a\n");
  EXPECT_EQ(end->cause, EndCause::kRequested);
  ASSERT_TRUE(end->receipt);
  EXPECT_EQ(end->receipt->epoch, Epoch(41));
  EXPECT_EQ(left_at_end, 0u);
  EXPECT_FALSE(ending) << "stop() needs no notice";
}

// C16: what ends at once for ever is given up, so that another node may try.
TEST_F(SupervisorTest, ACommandThatAlwaysExitsAtOnceFailsTheTreeAfterThreeRestarts) {
  start({{"steady", shell("$ENDLESS; :")}, writer("hasty", "echo x; exit 9")});
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->cause, EndCause::kRestartsExhausted);
  EXPECT_EQ(end->child, "hasty");
  EXPECT_EQ(end->status, (ExitStatus{9, 0}));
  EXPECT_EQ(written(), "x\nx\nx\nx\n");
  EXPECT_TRUE(end->receipt);
  EXPECT_EQ(left_at_end, 0u);
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->cause, EndCause::kRestartsExhausted);
}

// C08: no leader without work.
TEST_F(SupervisorTest, ACommandThatCannotBeStartedFailsTheTree) {
  start(
      {{"steady", shell("$ENDLESS; :")}, {"typo", Command{.argv = {"no-such-command-anywhere"}}}});
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->cause, EndCause::kStartFailed);
  EXPECT_EQ(end->message, "typo: cannot run no-such-command-anywhere: command not found");
  EXPECT_TRUE(end->receipt);
  EXPECT_EQ(ready, 0);

  options.guardian = "/no/such/guardian";
  start({{"a", shell("$ENDLESS; :")}});
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->cause, EndCause::kStartFailed);
}

TEST_F(SupervisorTest, ATemporaryCommandThatEndsEndsTheTreeWithItsStatus) {
  start({{"once", shell("exit 3"), {.restart = RestartPolicy::kTemporary}}});
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->cause, EndCause::kFinished);
  EXPECT_EQ(end->status, (ExitStatus{3, 0}));
  EXPECT_TRUE(end->receipt);
}

TEST_F(SupervisorTest, AFailureIsNotHiddenBehindALaterSuccess) {
  constexpr ChildRules kOnce{.restart = RestartPolicy::kTemporary};
  // Once its guardian is gone from the process table, the end of the one before has been heard of.
  const auto after = [this](const std::string& before, const std::string& name) {
    return "echo $PPID > " + file + name + "; while [ ! -s " + file + before +
           " ] || kill -0 $(cat " + file + before + ") 2> /dev/null; do sleep 0.01; done; ";
  };
  start({{"good", shell("exit 0"), kOnce},
         {"bad", shell("echo $PPID > " + file + "bad; exit 3"), kOnce},
         {"worse", shell(after("bad", "worse") + "exit 4"), kOnce},
         {"last", shell(after("worse", "last")), kOnce}});
  ASSERT_TRUE(ended());
  for (const char* each : {"bad", "worse", "last"}) std::filesystem::remove(file + each);
  EXPECT_EQ(end->cause, EndCause::kFinished);
  EXPECT_EQ(end->child, "bad");
  EXPECT_EQ(end->status, (ExitStatus{3, 0}));
  EXPECT_EQ(end->message, "bad: exited with code 3");
}

TEST_F(SupervisorTest, ACommandThatIsNotReadyInTimeIsNotCalledImpossibleToEnd) {
  options.supervision.start_timeout = 50ms;
  start({{"slow", shell("$ENDLESS; :"), {.shutdown = 50ms, .ready_after = std::nullopt}}});
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->cause, EndCause::kStartFailed);
  EXPECT_EQ(end->message, "slow: not ready in time");
}

TEST_F(SupervisorTest, ASetupThatTakesTooLongIsSaidToHaveTakenTooLong) {
  ChildSpec setup{"on-gain", shell("$ENDLESS; :"), {.shutdown = 50ms}};
  setup.rules.setup = true;
  setup.rules.timeout = 50ms;
  start({setup});
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->cause, EndCause::kStartFailed);
  EXPECT_EQ(end->message, "on-gain: not done within 50ms");
}

TEST_F(SupervisorTest, ACommandThatIgnoresTermIsKilledAfterItsGrace) {
  start({{"deaf", shell("trap '' TERM; $ENDLESS; :"), {.shutdown = 150ms}}});
  ASSERT_TRUE(is_ready());
  ASSERT_TRUE(until([this] { return living().size() == 3; }));
  const MonoTime before = loop.now();
  ASSERT_TRUE(stop());
  EXPECT_GE(loop.now() - before, 150ms);
  EXPECT_EQ(left_at_end, 0u);
  EXPECT_TRUE(end->receipt);
}

// P05: nobody renews, so nothing runs when the lease ends, whatever grace was promised.
TEST_F(SupervisorTest, WithoutARenewalTheTreeIsGoneBeforeTheDeadline) {
  options.supervision.kill_margin = 2s;
  start({{"deaf", shell("trap '' TERM; $ENDLESS; :"), {.shutdown = 1h}},
         {"heir", shell("(setsid $ENDLESS &) ; $ENDLESS; :"), {.shutdown = 1h}},
         {"task", until_stopped}},
        5s);
  ASSERT_TRUE(is_ready());
  ASSERT_TRUE(ended());
  EXPECT_TRUE(guard->valid());
  EXPECT_EQ(end->cause, EndCause::kDeadline);
  EXPECT_TRUE(end->receipt);
  EXPECT_EQ(left_at_end, 0u);
}

TEST_F(SupervisorTest, RenewalsReachTheGuardians) {
  start({{"a", shell("$ENDLESS; :")}, {"task", until_stopped}}, 3500ms);
  const MonoTime until_then = loop.now() + 3700ms;
  while (loop.now() < until_then) {
    guard->extend(loop.now() + 3500ms);
    supervisor->deadline_moved();
    loop.run_until(loop.now() + 100ms);
  }
  EXPECT_FALSE(end);
  EXPECT_EQ(ready, 1);
  ASSERT_TRUE(stop());
  EXPECT_TRUE(end->receipt);
}

TEST_F(SupervisorTest, AClosedGuardKillsAtOnce) {
  start({{"deaf", shell("trap '' TERM; $ENDLESS; :"), {.shutdown = 1h}}, {"task", until_stopped}});
  ASSERT_TRUE(is_ready());
  guard->close();
  supervisor->deadline_moved();
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->cause, EndCause::kDeadline);
  EXPECT_EQ(left_at_end, 0u);
}

TEST_F(SupervisorTest, OneTermFollowsTheOther) {
  start({writer("a", "echo $MUSTER_EPOCH; $ENDLESS; :")});
  ASSERT_TRUE(is_ready());
  ASSERT_TRUE(until([this] { return written() == "41\n"; }));
  ASSERT_TRUE(stop());
  const std::size_t before = open_descriptors();
  for (int n = 0; n < 3; ++n) {
    term();
    ASSERT_TRUE(is_ready());
    ASSERT_TRUE(stop());
    EXPECT_EQ(end->receipt->epoch, Epoch(epoch));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(SupervisorTest, ASignalReachesEveryCommand) {
  const auto spec = [this](const std::string& name) {
    return writer(name,
                  "trap 'echo " + name + "; exit' USR1; echo up; while :; do sleep 0.01; done");
  };
  start({spec("a"), spec("b")});
  ASSERT_TRUE(until([this] { return written() == "up\nup\n"; }));
  supervisor->forward_signal(SIGUSR1);
  ASSERT_TRUE(until([this] {
    return written().find("a\n") != std::string::npos && written().find("b\n") != std::string::npos;
  }));
  ASSERT_TRUE(stop());
}

TEST_F(SupervisorTest, DestroyingItLeavesNothingBehind) {
  start({{"deaf", shell("trap '' TERM; (setsid $ENDLESS &) ; $ENDLESS; :")},
         {"task", until_stopped}});
  ASSERT_TRUE(is_ready());
  supervisor.reset();
  EXPECT_TRUE(living().empty());
  EXPECT_FALSE(end);
}

TEST_F(SupervisorTest, ATaskThatFailsOrThrowsIsRestartedByItsPolicy) {
  std::atomic<int> runs{0};
  start({{"task",
          [&](const TaskContext& context) -> Status {
            EXPECT_TRUE(context.guard.valid());
            switch (++runs) {
              case 1:
                return {Errc::kUnavailable, "not today"};
              case 2:
                throw std::runtime_error("nor tomorrow");
              default:
                return Done{};
            }
          },
          {.restart = RestartPolicy::kTransient}}});
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->cause, EndCause::kFinished);
  EXPECT_EQ(runs, 3);
}

TEST_F(SupervisorTest, ATaskSaysItselfWhenItIsReady) {
  std::atomic<bool> go{false};
  ChildSpec task{"task", [&](const TaskContext& context) {
                   go.wait(false);
                   context.ready();
                   return until_stopped(context);
                 }};
  task.rules.ready_after.reset();
  start({task, {"after", shell("$ENDLESS; :")}});
  loop.run_until(loop.now() + 50ms);
  EXPECT_EQ(ready, 0);
  EXPECT_TRUE(living().empty());
  go = true;
  go.notify_all();
  ASSERT_TRUE(is_ready());
  ASSERT_TRUE(stop());
}

TEST_F(SupervisorTest, ALoopTaskIsRestartedStoppedAndNeedsNoWatchdog) {
  int starts = 0;
  int stops = 0;
  std::function<void(Error)> fail;
  const LoopTask task{
      .start = [&](auto, std::function<void(Error)> failed) { ++starts, fail = failed; },
      .stop = [&] { ++stops; }};
  start({{"in-loop", task}});
  ASSERT_TRUE(is_ready());
  fail({Errc::kUnavailable, "as it happens"});
  EXPECT_TRUE(until([&] { return starts == 2; }));
  EXPECT_EQ(stops, 0) << "what has failed is not stopped as well";
  ASSERT_TRUE(stop());
  EXPECT_EQ(stops, 1);
  EXPECT_TRUE(end->receipt);

  term();
  ASSERT_TRUE(is_ready());
  guard->close();
  supervisor->deadline_moved();
  ASSERT_TRUE(ended()) << "a lost lease ends it, and not the process";
  EXPECT_EQ(stops, 2);
}

// A thread cannot be killed, so the process goes, and with it, by its guardian, the command.
TEST_F(SupervisorTest, ATaskThatIgnoresItsStopEndsTheProcessBeforeTheDeadline) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        options.supervision.kill_margin = 4s;
        start({{"deaf",
                [](const TaskContext&) -> Status {
                  std::atomic<bool> never{false};
                  never.wait(false);
                  return Done{};
                }}},
              5s);
        const MonoTime deadline = guard->deadline();
        loop.at(deadline, [] { ::_exit(1); });
        loop.run();
      },
      ::testing::ExitedWithCode(TaskWatchdog::kExitCode), "a task still runs at the end");
}

}  // namespace supervisor_test
}  // namespace muster
