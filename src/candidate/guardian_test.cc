#include "candidate/guardian.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "candidate/guarded_command.h"
#include "candidate/process_test_scene.h"

namespace muster {
namespace guardian_test {

using guardian::Order;
using guardian::Report;

/// A guardian that is given orders directly, as no GuardedCommand would give them.
struct GuardianTest : testing::ProcessScene {
  ~GuardianTest() override {
    if (!process) return;
    process->signal(SIGKILL);
    (void)process->wait();
  }

  void start(Epoch epoch, Duration lease) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours.reset(ends[0]);
    const UniqueFd theirs(ends[1]);
    Command command = shell("$ENDLESS; :");
    deadline = loop.now() + lease;
    const auto arguments = guardian::to_arguments({.epoch = epoch,
                                                   .deadline = deadline,
                                                   .kill_margin = 1500ms,
                                                   .warning = 50ms,
                                                   .grace = 50ms,
                                                   .parent = ::getpid(),
                                                   .directory = "",
                                                   .control_group = "",
                                                   .argv = command.argv,
                                                   .environment = {}});
    const auto variables = guardian::to_file(*command.environment);
    ASSERT_TRUE(variables);
    command.argv = {find_guardian()};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.descriptors = {{theirs.get(), guardian::kSocketFd},
                           {variables->get(), guardian::kEnvironmentFd}};
    auto spawned = spawn(command);
    ASSERT_TRUE(spawned);
    process.emplace(std::move(*spawned));
    ASSERT_EQ(next().kind, Report::Kind::kStarted);
  }
  void order(Order each) const {
    ASSERT_EQ(::send(ours.get(), &each, sizeof each, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof each));
  }
  Report next() const {
    Report report{};
    EXPECT_EQ(::recv(ours.get(), &report, sizeof report, 0), static_cast<ssize_t>(sizeof report));
    return report;
  }
  /// The process is reaped and nothing of it is left.
  void expect_gone() {
    EXPECT_EQ(next().kind, Report::Kind::kGone);
    (void)process->wait();
    process.reset();
    EXPECT_TRUE(living().empty());
  }

  UniqueFd ours;
  std::optional<Process> process;
  MonoTime deadline{};
};

// G1: a deadline is for one epoch; a later one of another term does not keep the command alive.
TEST_F(GuardianTest, ADeadlineForAnotherEpochIsRefused) {
  start(Epoch(7), 3s);
  for (const std::uint64_t other : {6u, 8u}) {
    order({.kind = Order::Kind::kDeadline,
           .epoch = other,
           .deadline_ns = (deadline + 1h).time_since_epoch().count()});
  }
  expect_gone();
  EXPECT_LT(loop.now(), deadline);
}

TEST_F(GuardianTest, ADeadlineForItsOwnEpochIsKept) {
  start(Epoch(7), 3s);
  const MonoTime later = deadline + 2s;
  order({.kind = Order::Kind::kDeadline,
         .epoch = 7,
         .deadline_ns = later.time_since_epoch().count()});
  expect_gone();
  EXPECT_GT(loop.now(), deadline);
  EXPECT_LT(loop.now(), later);
}

// G1: a lease that was lost, or whose renewal counted from an earlier send, ends sooner.
TEST_F(GuardianTest, AnEarlierDeadlineIsKept) {
  start(Epoch(7), 60s);
  const MonoTime earlier = loop.now() + 2s;
  order({.kind = Order::Kind::kDeadline,
         .epoch = 7,
         .deadline_ns = earlier.time_since_epoch().count()});
  expect_gone();
  EXPECT_LT(loop.now(), earlier);
}

// An order to end, left over from the term before, does not hit this one.
TEST_F(GuardianTest, AKillForAnotherEpochIsRefused) {
  start(Epoch(7), 60s);
  order({.kind = Order::Kind::kKill, .epoch = 6});
  order({.kind = Order::Kind::kSignal, .signal = SIGTERM, .epoch = 6});
  // Orders are obeyed one after the other, so the next one comes after those two were judged.
  order({.kind = Order::Kind::kSignal, .signal = SIGUSR1, .epoch = 7});
  const Report report = next();
  EXPECT_EQ(report.kind, Report::Kind::kGone);
  EXPECT_EQ(report.signal, SIGUSR1);
}

}  // namespace guardian_test
}  // namespace muster
