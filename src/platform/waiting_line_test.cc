#include "platform/waiting_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "platform/files.h"

namespace muster::files {
namespace waiting_line_test {

constexpr MonoTime kStart{1h};

class WaitingLineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-line-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  [[nodiscard]] UniqueFd open() const {
    return open_at(AT_FDCWD, path_ + "/file", O_RDWR | O_CREAT).value();
  }

  std::string path_;
};

/// Stands for a process: a line with an open file of its own.
struct Waiter {
  explicit Waiter(UniqueFd f) : file(std::move(f)), line(file.get()) {}
  UniqueFd file;
  WaitingLine line;
};

TEST_F(WaitingLineTest, WhoeverHadTheLockStandsBehindThoseWhoWait) {
  Waiter hog(open()), second(open()), third(open());
  ASSERT_TRUE(hog.line.may_ask(kStart));
  hog.line.was_served(kStart);
  ASSERT_TRUE(second.line.may_ask(kStart + 1ms));
  second.line.was_refused(kStart + 1ms);
  EXPECT_FALSE(third.line.may_ask(kStart + 2ms)) << "the second came before";
  EXPECT_FALSE(hog.line.may_ask(kStart + 3ms)) << "it has just had its turn";
  EXPECT_TRUE(second.line.may_ask(kStart + 4ms));
  second.line.was_served(kStart + 4ms);
  EXPECT_FALSE(hog.line.may_ask(kStart + 5ms));
  EXPECT_TRUE(third.line.may_ask(kStart + 5ms));
  third.line.was_served(kStart + 5ms);
  EXPECT_TRUE(hog.line.may_ask(kStart + 6ms));
}

TEST_F(WaitingLineTest, WhoeverLeavesHoldsUpNobody) {
  Waiter first(open()), second(open());
  first.line.was_refused(kStart);
  ASSERT_FALSE(second.line.may_ask(kStart));
  first.line.leave();
  EXPECT_TRUE(second.line.may_ask(kStart));
}

TEST_F(WaitingLineTest, TwoWhoComeAtOnceBothHaveAPlace) {
  Waiter first(open()), second(open());
  first.line.was_refused(kStart);
  second.line.was_refused(kStart);
  EXPECT_TRUE(first.line.may_ask(kStart));
  EXPECT_FALSE(second.line.may_ask(kStart));
}

TEST_F(WaitingLineTest, OneThatDoesNotUseItsTurnIsOvertakenAndThenIgnoredForAWhile) {
  Waiter stopped(open()), live(open());
  stopped.line.was_refused(kStart);
  MonoTime now = kStart;
  ASSERT_FALSE(live.line.may_ask(now));
  now += WaitingLine::kPatience;
  ASSERT_TRUE(live.line.may_ask(now));
  live.line.was_served(now);
  EXPECT_TRUE(live.line.may_ask(now)) << "it does not cost the wait again";
  live.line.was_served(now);
  now += WaitingLine::kOvertaken;
  EXPECT_FALSE(live.line.may_ask(now)) << "it may have gone on meanwhile";
}

TEST_F(WaitingLineTest, WhileTheLockIsInUseNobodyLetsATurnPass) {
  Waiter first(open()), second(open());
  first.line.was_refused(kStart);
  ASSERT_FALSE(second.line.may_ask(kStart));
  const MonoTime later = kStart + WaitingLine::kPatience;
  ASSERT_TRUE(second.line.may_ask(later)) << "to see whether the lock is in use";
  second.line.was_refused(later);
  EXPECT_FALSE(second.line.may_ask(later + WaitingLine::kPatience / 2));
  EXPECT_TRUE(first.line.may_ask(later));
}

TEST_F(WaitingLineTest, AKilledProcessHoldsUpNobody) {
  const pid_t child = ::fork();
  if (child == 0) {
    Waiter waiter(open());
    waiter.line.was_refused(kStart);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  Waiter second(open());
  EXPECT_FALSE(second.line.may_ask(kStart + 1ms));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(second.line.may_ask(kStart + 2ms));
}

}  // namespace waiting_line_test
}  // namespace muster::files
