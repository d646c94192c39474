#include "platform/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "platform/event_loop.h"
#include "platform/process_table.h"
#include "platform/system_clock.h"

namespace muster {
namespace process_test {

/// What a command writes to the descriptor that it is given as number 1.
std::string output_of(Command command) {
  int ends[2];
  MUSTER_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  command.descriptors.emplace_back(writer.get(), 1);
  auto process = spawn(command);
  if (!process) return process.error().message;
  writer.reset();
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = ::read(reader.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  EXPECT_TRUE(process->wait().success());
  return text;
}

TEST(ProcessTest, ArgumentsArriveAsTheyAreWithoutAShell) {
  EXPECT_EQ(output_of({.argv = {"printf", "%s|", "a b", "$HOME", "*", ""}}), "a b|$HOME|*||");
}

TEST(ProcessTest, EnvironmentAndDirectoryAreTheOnesGiven) {
  EXPECT_EQ(output_of({.argv = {"/usr/bin/env"},
                       .environment = std::vector<std::string>{"A=1", "B=x y"}}),
            "A=1\nB=x y\n");
  EXPECT_EQ(output_of({.argv = {"pwd", "-P"}, .directory = "/usr"}), "/usr\n");
}

TEST(ProcessTest, ExitStatusTellsCodesFromSignals) {
  auto code = spawn({.argv = {"sh", "-c", "exit 7"}});
  ASSERT_TRUE(code);
  const ExitStatus seven = code->wait();
  EXPECT_EQ(seven, (ExitStatus{7, 0}));
  EXPECT_EQ(seven.shell_code(), 7);

  auto endless = spawn({.argv = {"sleep", "1000"}});
  ASSERT_TRUE(endless);
  EXPECT_FALSE(endless->try_wait());
  EXPECT_TRUE(endless->signal(SIGTERM));
  const ExitStatus killed = endless->wait();
  EXPECT_EQ(killed, (ExitStatus{0, SIGTERM}));
  EXPECT_EQ(killed.shell_code(), 128 + SIGTERM);
  EXPECT_FALSE(endless->signal(SIGTERM));
}

TEST(ProcessTest, WhatCannotBeExecutedIsAnErrorThatSaysWhy) {
  EXPECT_TRUE(spawn({.argv = {"no-such-command-anywhere"}}).is(Errc::kNotFound));
  EXPECT_TRUE(spawn({.argv = {"/no/such/file"}}).is(Errc::kNotFound));
  EXPECT_TRUE(spawn({.argv = {"/etc/passwd"}}).is(Errc::kDenied));
  EXPECT_TRUE(spawn({.argv = {"/usr"}}).is(Errc::kDenied));
  EXPECT_TRUE(spawn({.argv = {"true"}, .directory = "/no/such"}).is(Errc::kNotFound));
  EXPECT_TRUE(spawn({.argv = {}}).is(Errc::kInvalid));
  EXPECT_TRUE(spawn({.argv = {""}}).is(Errc::kInvalid));

  const std::string file = ::testing::TempDir() + "muster-no-program-" + std::to_string(::getpid());
  std::ofstream(file) << "exit 0\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  EXPECT_TRUE(spawn({.argv = {file}}).is(Errc::kInvalid));
  std::ofstream(file) << "#!/no/such/interpreter\n";
  const auto headless = spawn({.argv = {file}});
  std::filesystem::remove(file);
  EXPECT_TRUE(headless.is(Errc::kNotFound));
  EXPECT_NE(headless.error().message.find("its interpreter is missing"), std::string::npos);
}

TEST(ProcessTest, NoDescriptorOfOursLeaksToTheChild) {
  // Deliberately without close-on-exec, as careless libraries open theirs.
  const UniqueFd careless(::open("/dev/null", O_RDONLY));
  ASSERT_TRUE(careless.valid());
  // ls itself opens one for the directory it reads.
  EXPECT_EQ(output_of({.argv = {"ls", "/proc/self/fd"}, .null_stdin = true}), "0\n1\n2\n3\n");
}

TEST(ProcessTest, DescriptorsThatSwapPlacesArriveRight) {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(output_of({.argv = {"readlink", "/proc/self/fd/7", "/proc/self/fd/8"},
                       .descriptors = {{zero.get(), 7}, {null.get(), 8}}}),
            "/dev/zero\n/dev/null\n");
}

TEST(ProcessTest, SignalsIgnoredHereAreNotIgnoredThere) {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before {};
  ::sigaction(SIGTERM, &ignore, &before);
  auto process = spawn({.argv = {"sleep", "1000"}});
  ::sigaction(SIGTERM, &before, nullptr);
  ASSERT_TRUE(process);
  process->signal(SIGTERM);
  EXPECT_EQ(process->wait().signal, SIGTERM);
}

TEST(ProcessTest, WhoeverIgnoresTheEndOfChildrenStillLearnsHowTheyEnded) {
  for (const int flags : {0, SA_NOCLDWAIT}) {
    struct sigaction action {};
    action.sa_handler = flags == 0 ? SIG_IGN : SIG_DFL;
    action.sa_flags = flags;
    struct sigaction before {};
    ::sigaction(SIGCHLD, &action, &before);
    auto process = spawn({.argv = {"sh", "-c", "exit 7"}});
    EXPECT_TRUE(process && process->wait().code == 7);
    ::sigaction(SIGCHLD, &before, nullptr);
  }
}

TEST(ProcessTest, TooFewDescriptorsAreAnErrorAndNotAnEarlyEnd) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{32, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto process = spawn({.argv = {"true"}});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(process.is(Errc::kUnavailable));
  EXPECT_EQ(process.error().message, "cannot run true: Too many open files");
}

TEST(ProcessTest, StrangersAreReapedAndOwnChildrenAreNot) {
  auto own = spawn({.argv = {"sh", "-c", "exit 7"}});
  ASSERT_TRUE(own);
  pollfd ended{own->pidfd(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 30'000), 1);
  // It hides the stranger until it is reaped.
  reap_strangers();
  EXPECT_EQ(own->wait().code, 7);

  const pid_t stranger = ::fork();
  if (stranger == 0) ::_exit(0);
  const MonoTime limit = boot_now() + 30s;
  while (look_at(stranger) && boot_now() < limit) reap_strangers();
  EXPECT_FALSE(look_at(stranger));
}

TEST(ProcessTest, ALoopLearnsOfTheEndThroughThePidfd) {
  EventLoop loop;
  auto process = spawn({.argv = {"true"}});
  ASSERT_TRUE(process);
  std::optional<ExitStatus> status;
  loop.watch_fd(process->pidfd(), EPOLLIN, [&](std::uint32_t) {
    loop.unwatch_fd(process->pidfd());
    status = process->try_wait();
    loop.stop();
  });
  EXPECT_TRUE(loop.run_until(loop.now() + 30s));
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->success());
}

TEST(ProcessTableTest, FindsChildrenOfChildrenAndTheirEnvironment) {
  auto env = environment();
  env.push_back("MUSTER_TEST_MARK=" + std::to_string(::getpid()));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  auto process = spawn({.argv = {"sh", "-c", "sleep 1000 & echo; wait"},
                        .environment = env,
                        .descriptors = {{writer.get(), 1}}});
  ASSERT_TRUE(process);
  char started = 0;
  ASSERT_EQ(::read(reader.get(), &started, 1), 1);

  ProcessTable table;
  table.look();
  const auto below = table.descendants(process->pid());
  ASSERT_EQ(below.size(), 1u);
  EXPECT_EQ(below[0].parent, process->pid());
  EXPECT_EQ(below[0].group, process->pid());
  EXPECT_FALSE(below[0].ended());
  EXPECT_TRUE(started_with(below[0].pid, env.back()));
  EXPECT_FALSE(started_with(below[0].pid, "MUSTER_TEST_MARK="));
  EXPECT_EQ(::kill(-process->pid(), SIGKILL), 0);
  EXPECT_EQ(process->wait().signal, SIGKILL);
}

}  // namespace process_test
}  // namespace muster
