#include "candidate/guarded_command.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "candidate/guarded_command_test_scene.h"

namespace muster {
namespace guarded_command_test {

using testing::GuardedCommandTest;

TEST_F(GuardedCommandTest, TellsHowTheCommandEnded) {
  auto guarded = start(shell("exit 7"));
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.gone);
  EXPECT_EQ(*heard.gone, (ExitStatus{7, 0}));
  EXPECT_GT(heard.pid, 0);
}

// The kernel tells of orders that were never read before it hands out the last report.
TEST_F(GuardedCommandTest, AnOrderThatCrossesTheEndOfTheCommandCostsNoReport) {
  for (int i = 0; i < 50; ++i) {
    auto guarded = start(shell("exit 7"));
    Timer renewals(loop);
    const std::function<void()> renew = [&] {
      guarded->deadline_moved(loop.now() + 60s);
      renewals.arm(loop.now() + 50us, renew);
    };
    renew();
    ASSERT_TRUE(over());
    ASSERT_TRUE(heard.gone) << "round " << i;
  }
}

TEST_F(GuardedCommandTest, ACommandThatCannotRunIsAFailureThatSaysWhy) {
  auto absent = start({.argv = {"no-such-command-anywhere"}});
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.failed);
  EXPECT_EQ(heard.failed->code, Errc::kNotFound);
  EXPECT_EQ(heard.failed->message, "cannot run no-such-command-anywhere: command not found");

  auto denied = start({.argv = {"/etc/passwd"}});
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.failed);
  EXPECT_EQ(heard.failed->code, Errc::kDenied);

  options.program = "/no/such/guardian";
  auto guarded = make();
  EXPECT_TRUE(guarded->start({.argv = {"true"}}, Epoch(1), loop.now() + 60s).is(Errc::kNotFound));
}

TEST_F(GuardedCommandTest, ALeaseThatHasEndedStartsNothing) {
  auto guarded = start(shell("$ENDLESS; :"), 100ms);
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.failed);
  EXPECT_EQ(heard.failed->code, Errc::kCancelled);
}

TEST_F(GuardedCommandTest, ADaemonThatForkedTwiceAndLeftSessionAndEnvironmentIsKilled) {
  auto guarded = start(shell("(env -i setsid sh -c \"$ENDLESS & $ENDLESS\" &) ; $ENDLESS; :"));
  // The guardian, the shell and its sleep, the daemon's shell and its two.
  ASSERT_TRUE(until([this] { return living().size() == 6; }));
  guarded->kill();
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.gone);
  EXPECT_TRUE(living().empty());
}

TEST_F(GuardedCommandTest, AChainOfForksDoesNotOutrunTheKill) {
  const std::string file = folder + "muster-chain-" + word_;
  // Each link starts the next one and ends, in a session of its own.
  auto guarded = start(shell("link='echo >> " + file +
                             "; sh -c \"$1\" link \"$1\" & exit'; "
                             "setsid sh -c \"$link\" link \"$link\" & $ENDLESS; :"));
  const auto links = [&] {
    return std::filesystem::exists(file) ? std::filesystem::file_size(file) : 0;
  };
  ASSERT_TRUE(until([&] { return links() >= 20; }));
  guarded->kill();
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.gone);
  EXPECT_TRUE(living().empty());
  const auto at_the_end = links();
  loop.run_until(loop.now() + 50ms);
  EXPECT_EQ(links(), at_the_end);
  std::filesystem::remove(file);
}

TEST_F(GuardedCommandTest, WhatACommandLeavesBehindDoesNotOutliveIt) {
  auto guarded = start(shell("(setsid sh -c \"trap '' TERM; $ENDLESS & wait; wait\" &) ; exit 3"));
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.gone);
  EXPECT_EQ(heard.gone->code, 3);
  EXPECT_TRUE(living().empty());
}

TEST_F(GuardedCommandTest, ACommandThatIgnoresTermLivesUntilItIsKilled) {
  options.grace = 60s;
  auto guarded = start(shell("trap : TERM; while :; do $ENDLESS; done"));
  ASSERT_TRUE(until([this] { return living().size() == 3; }));
  const auto first = living();
  guarded->terminate();
  // Its sleep has ended and another one runs: TERM was heard and ignored.
  ASSERT_TRUE(until([&] { return living().size() == 3 && living() != first; }));
  EXPECT_FALSE(heard.over());
  guarded->kill();
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.gone);
  EXPECT_EQ(heard.gone->signal, SIGKILL);
}

TEST_F(GuardedCommandTest, AStoppedCommandHearsTerm) {
  auto guarded = start(shell("kill -STOP $$; $ENDLESS; :"));
  ASSERT_TRUE(until([this] { return heard.pid != 0; }));
  guarded->terminate();
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.gone);
}

TEST_F(GuardedCommandTest, SignalsReachTheCommand) {
  const std::string file = folder + "muster-signal-" + word_;
  auto guarded = start(shell("trap 'exit 5' USR1; : > " + file + "; while :; do sleep 0.01; done"));
  ASSERT_TRUE(until([&] { return std::filesystem::exists(file); }));
  guarded->signal(SIGUSR1);
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.gone);
  EXPECT_EQ(heard.gone->code, 5);
  std::filesystem::remove(file);
}

TEST_F(GuardedCommandTest, DeadlinesThatMoveKeepTheCommandRunning) {
  options.kill_margin = 100ms;
  auto guarded = start(shell("$ENDLESS; :"), 2500ms);
  const MonoTime end = loop.now() + 2700ms;
  while (loop.now() < end) {
    guarded->deadline_moved(loop.now() + 2500ms);
    loop.run_until(loop.now() + 50ms);
  }
  EXPECT_FALSE(heard.over());
  EXPECT_FALSE(living().empty());
}

// G1, P05: nobody says anything any more, and the work ends in time all the same.
TEST_F(GuardedCommandTest, WithoutANewDeadlineEverythingIsGoneBeforeTheOldOne) {
  options.grace = 60s;
  options.kill_margin = 2s;
  const MonoTime deadline = loop.now() + 4500ms;
  auto guarded =
      start(shell("trap '' TERM; (setsid $ENDLESS &) ; while :; do $ENDLESS; done"), 4500ms);
  ASSERT_TRUE(until([this] { return living().size() == 4; }));
  ASSERT_TRUE(over());
  EXPECT_LT(loop.now(), deadline);
  EXPECT_TRUE(living().empty());
  EXPECT_TRUE(heard.gone);
}

// G4: the other watcher sees to it.
TEST_F(GuardedCommandTest, WhenTheGuardianIsKilledWhatItGuardedIsKilledAndCalledLost) {
  auto guarded = start(shell("(setsid $ENDLESS &) ; $ENDLESS; :"));
  ASSERT_TRUE(until([this] { return living().size() == 4; }));
  ASSERT_EQ(::kill(guarded->guardian_pid(), SIGKILL), 0);
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.lost);
  EXPECT_TRUE(living().empty());
}

// G4: each process of the chain is gone before anybody can look at it twice.
TEST_F(GuardedCommandTest, AChainOfForksDoesNotOutliveItsGuardian) {
  const std::string file = folder + "muster-hunted-" + word_;
  const auto links = [&] {
    return std::filesystem::exists(file) ? std::filesystem::file_size(file) : 0;
  };
  for (int i = 0; i < 8; ++i) {
    const auto before = links();
    // It ends by itself, if nothing else ends it.
    auto guarded = start(shell("link='echo >> " + file +
                               "; [ $2 -gt 0 ] && sh -c \"$1\" link \"$1\" $(($2 - 1)) & exit'; "
                               "setsid sh -c \"$link\" link \"$link\" 3000 & $ENDLESS; :"));
    ASSERT_TRUE(until([&] { return links() >= before + 3; }));
    ASSERT_EQ(::kill(guarded->guardian_pid(), SIGKILL), 0);
    ASSERT_TRUE(over());
    EXPECT_TRUE(heard.lost);
    const auto at_the_end = links();
    loop.run_until(loop.now() + 20ms);
    ASSERT_EQ(links(), at_the_end) << "round " << i;
  }
  EXPECT_TRUE(living().empty());
  std::filesystem::remove(file);
}

// G3: it is told once, and hunted until it is gone.
TEST_F(GuardedCommandTest, WhatCannotBeKilledWithoutTheGuardianIsTold) {
  auto guarded = start(shell("$ENDLESS; :"));
  ASSERT_TRUE(until([this] { return heard.pid != 0; }));
  const std::string mark = assignment_of(heard.pid, "MUSTER_GUARDIAN");
  ASSERT_EQ(::kill(guarded->guardian_pid(), SIGKILL), 0);
  EXPECT_TRUE(until_beside(mark, [this] { return heard.unkillable != 0; }));
  EXPECT_FALSE(heard.over_when_told);
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.lost);
}

TEST_F(GuardedCommandTest, AFrozenGuardianDoesNotSaveTheCommand) {
  auto guarded = start(shell("(setsid $ENDLESS &) ; $ENDLESS; :"));
  ASSERT_TRUE(until([this] { return living().size() == 4; }));
  ASSERT_EQ(::kill(guarded->guardian_pid(), SIGSTOP), 0);
  guarded->kill();
  ASSERT_TRUE(until([&] { return living() == std::vector{guarded->guardian_pid()}; }));
  guarded->give_up_on_guardian();
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.lost);
  EXPECT_TRUE(living().empty());
}

// G4: it was frozen before anybody heard that the command runs, and the loop has other things to
// do.
TEST_F(GuardedCommandTest, AGuardianFrozenBeforeItsFirstReportDoesNotSaveTheCommand) {
  auto guarded = start(shell("(env -i setsid $ENDLESS &) ; $ENDLESS; :"));
  pid_t daemon = 0;
  ASSERT_TRUE(without_loop([&] { return (daemon = adopted_by(guarded->guardian_pid())) != 0; }));
  ASSERT_EQ(::kill(guarded->guardian_pid(), SIGSTOP), 0);
  ASSERT_EQ(heard.pid, 0);
  guarded->kill();
  EXPECT_TRUE(without_loop([&] { return living() == std::vector{guarded->guardian_pid()}; }));
  ASSERT_EQ(::kill(guarded->guardian_pid(), SIGCONT), 0);
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.gone);
}

// G3: who waits for a child that has not called exec yet is in state D, and is gone all the same.
TEST_F(GuardedCommandTest, AProcessThatCannotBeInterruptedUntilItsChildGoesOnIsKilled) {
  const std::string fifo = folder + "muster-fifo-" + word_;
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  // posix_spawn shares its memory with the child, which here opens a pipe that nobody reads.
  auto guarded =
      start(shell("exec python3 -c 'import os, sys\n"
                  "os.posix_spawn(\"/bin/true\", [\"true\"], os.environ, file_actions="
                  "[(os.POSIX_SPAWN_OPEN, 1, sys.argv[1], os.O_WRONLY, 0)])' " +
                  fifo));
  ASSERT_TRUE(until([this] {
    const auto entry = heard.pid == 0 ? std::nullopt : look_at(heard.pid);
    return entry && entry->state == 'D' && living().size() == 3;
  }));
  guarded->terminate();
  guarded->kill();
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.gone);
  EXPECT_TRUE(living().empty());
  std::filesystem::remove(fifo);
}

TEST_F(GuardedCommandTest, TheGuardianSurvivesSignalsMeantForEverybody) {
  auto guarded = start(shell("trap '' TERM INT HUP; while :; do sleep 0.01; done"));
  ASSERT_TRUE(until([this] { return heard.pid != 0; }));
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    ASSERT_EQ(::kill(guarded->guardian_pid(), number), 0);
  }
  loop.run_until(loop.now() + 50ms);
  EXPECT_FALSE(heard.over());
}

TEST_F(GuardedCommandTest, OutputThatNobodyReadsBlocksTheCommandOnly) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  Command flood = shell("while :; do echo flood; done");
  flood.descriptors = {{writer.get(), 1}};
  auto guarded = start(flood);
  ASSERT_TRUE(until([this] { return heard.pid != 0; }));
  loop.run_until(loop.now() + 50ms);
  guarded->terminate();
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.gone);
  EXPECT_EQ(heard.gone->signal, SIGTERM);
}

TEST_F(GuardedCommandTest, StandardInputPassesThroughAndMayBeClosed) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  Command reads = shell("read line; exec 0<&-; [ \"$line\" = hello ] && exit 4");
  reads.descriptors = {{reader.get(), 0}};
  auto guarded = start(reads);
  ASSERT_EQ(::write(writer.get(), "hello\n", 6), 6);
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.gone);
  EXPECT_EQ(heard.gone->code, 4);

  Command none = shell("cat");
  none.null_stdin = true;
  auto second = start(none);
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.gone);
  EXPECT_TRUE(heard.gone->success());
}

TEST_F(GuardedCommandTest, NoDescriptorLeaksHereOrThere) {
  const auto once = [this] {
    // Only the three, and the one that ls reads the directory by.
    auto guarded = start(shell("[ $(ls /proc/self/fd | wc -l) = 4 ]"));
    ASSERT_TRUE(over());
    ASSERT_TRUE(heard.gone);
    EXPECT_EQ(heard.gone->code, 0);
  };
  once();
  const std::size_t before = open_descriptors();
  for (int n = 0; n < 10; ++n) once();
  EXPECT_EQ(open_descriptors(), before);
}

// R17: a library that the command brings, or preloads, is not the guardian's.
TEST_F(GuardedCommandTest, TheGuardianDoesNotHaveTheCommandsEnvironment) {
  const std::string libraries = folder + "muster-libraries-" + word_;
  std::filesystem::create_directory(libraries);
  // A library that cannot be loaded, which the guardian needs and a shell does not.
  std::ofstream(libraries + "/libstdc++.so.6") << "no library";
  Command command = shell("[ -n \"$LD_LIBRARY_PATH\" ] && exit 7");
  set_variable(*command.environment, "LD_LIBRARY_PATH", libraries);
  auto guarded = start(command);
  EXPECT_TRUE(assignment_of(guarded->guardian_pid(), "LD_LIBRARY_PATH").empty());
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.gone);
  EXPECT_EQ(heard.gone->code, 7);
  std::filesystem::remove_all(libraries);
}

// R21: anyone who starts a daemon that goes to the background learns why it is not there.
TEST_F(GuardedCommandTest, ACommandThatGoesToTheBackgroundIsTold) {
  auto guarded = start(shell("(setsid $ENDLESS &) ; exit 0"));
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.gone);
  EXPECT_NE(heard.leftover, 0);

  auto quiet = start(shell("$ENDLESS & wait; :"));
  ASSERT_TRUE(until([this] { return living().size() == 3; }));
  quiet->terminate();
  ASSERT_TRUE(over());
  EXPECT_EQ(heard.leftover, 0) << "it was asked to end";
}

TEST_F(GuardedCommandTest, DestroyingItEndsTheCommand) {
  auto guarded = start(shell("trap '' TERM; (setsid $ENDLESS &) ; while :; do $ENDLESS; done"));
  ASSERT_TRUE(until([this] { return living().size() == 4; }));
  guarded.reset();
  EXPECT_TRUE(living().empty());
}

/// A process of its own that has a command guarded until it is killed.
struct GuardedParentTest : GuardedCommandTest {
  pid_t fork_parent(const std::string& script, Duration lease) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    EventLoop own;
    GuardedCommand guarded(own, options, {.started = [](pid_t) {}});
    if (!guarded.start(shell(script), Epoch(7), own.now() + lease)) ::_exit(1);
    own.run();
    ::_exit(0);
  }
  void end(pid_t pid) {
    ::kill(pid, SIGKILL);
    ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  }
};

// C07, P05: kill -9 of the parent.
TEST_F(GuardedParentTest, KillingTheParentLeavesNoOrphansLongBeforeTheDeadline) {
  const pid_t parent =
      fork_parent("trap '' TERM; (env -i setsid $ENDLESS &) ; while :; do $ENDLESS; done", 60s);
  ASSERT_TRUE(until([this] { return living().size() == 4; }));
  end(parent);
  EXPECT_TRUE(until([this] { return living().empty(); }, 10s));
}

// P05: a parent that is frozen kills nobody; the guardian does, in time.
TEST_F(GuardedParentTest, AFrozenParentDoesNotKeepTheWorkAlivePastTheDeadline) {
  options.grace = 60s;
  options.kill_margin = 2s;
  const MonoTime deadline = loop.now() + 4500ms;
  const pid_t parent =
      fork_parent("trap '' TERM; (env -i setsid $ENDLESS &) ; while :; do $ENDLESS; done", 4500ms);
  ASSERT_TRUE(until([this] { return living().size() == 4; }));
  ASSERT_EQ(::kill(parent, SIGSTOP), 0);
  EXPECT_TRUE(until([this] { return living().empty(); }));
  EXPECT_LT(loop.now(), deadline);
  end(parent);
}

}  // namespace guarded_command_test
}  // namespace muster
