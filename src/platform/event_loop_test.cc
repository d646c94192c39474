#include "platform/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "platform/system_clock.h"

namespace muster {
namespace event_loop_test {

TEST(EventLoopTest, PostedTasksRunInOrder) {
  EventLoop loop;
  std::vector<int> seen;
  for (int i = 0; i < 3; ++i) loop.post([&seen, i] { seen.push_back(i); });
  loop.post([&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2}));
}

TEST(EventLoopTest, TimersRunInOrderOfTimeAndNeverEarly) {
  EventLoop loop;
  std::vector<int> seen;
  const MonoTime start = loop.now();
  MonoTime fired{};
  loop.at(start + 20ms, [&] {
    seen.push_back(2);
    fired = loop.now();
    loop.stop();
  });
  loop.at(start + 5ms, [&] { seen.push_back(1); });
  loop.run();
  EXPECT_EQ(seen, (std::vector<int>{1, 2}));
  EXPECT_GE(fired, start + 20ms);
}

TEST(EventLoopTest, ACancelledTimerDoesNotRunEvenWhenItIsDue) {
  EventLoop loop;
  bool ran = false;
  Loop::TimerId second = 0;
  loop.at(loop.now(), [&] { loop.cancel(second); });
  second = loop.at(loop.now() + 1ns, [&] { ran = true; });
  EXPECT_FALSE(loop.run_until(loop.now() + 10ms));
  EXPECT_FALSE(ran);
}

TEST(EventLoopTest, RearmingATimerReplacesIt) {
  EventLoop loop;
  Timer timer(loop);
  int fired = 0;
  for (int i = 0; i < 5; ++i) timer.arm(1ms, [&] { ++fired; });
  loop.run_until(loop.now() + 20ms);
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(timer.armed());
}

TEST(EventLoopTest, OtherThreadsWakeTheLoop) {
  LoopThread thread;
  int value = 0;
  thread.run([&] { value = 7; });
  EXPECT_EQ(value, 7);
}

TEST(EventLoopTest, AWatchedDescriptorIsReportedUntilUnwatched) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  int calls = 0;
  loop.watch_fd(reader.get(), EPOLLIN, [&](std::uint32_t) {
    ++calls;
    loop.unwatch_fd(reader.get());
  });
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  loop.run_until(loop.now() + 10ms);
  EXPECT_EQ(calls, 1);
}

/// Waits on a condition, and finds one thing each time it is told of one.
class TestingWaiter final : public LoopWaiter {
 public:
  void wait(MonoTime by) override {
    std::unique_lock lock(mutex_);
    ++waits;
    const auto woken = [this] { return woken_; };
    if (by == MonoTime::max()) {
      changed_.wait(lock, woken);
    } else if (by > boot_now()) {
      changed_.wait_for(lock, by - boot_now(), woken);
    }
    woken_ = false;
  }
  void deliver() override {
    if (const auto found = std::exchange(find, {})) found();
  }
  void wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  }

  std::function<void()> find;
  int waits = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

class WaitingElsewhereTest : public ::testing::Test {
 protected:
  WaitingElsewhereTest() { loop_.wait_in(&waiter_); }
  ~WaitingElsewhereTest() override { loop_.wait_in(nullptr); }

  TestingWaiter waiter_;
  EventLoop loop_;
};

TEST_F(WaitingElsewhereTest, TimersRingAndTasksOfTheLoopItselfNeedNoWaking) {
  int ran = 0;
  Timer timer(loop_);
  timer.arm(5ms, [&] {
    loop_.post([&] {
      ++ran;
      loop_.stop();
    });
  });
  loop_.run();
  EXPECT_EQ(ran, 1);
}

TEST_F(WaitingElsewhereTest, OtherThreadsWakeIt) {
  std::thread other([this] { loop_.post([this] { loop_.stop(); }); });
  loop_.run();
  other.join();
}

TEST_F(WaitingElsewhereTest, WhatTheWaiterFoundIsDelivered) {
  waiter_.find = [this] { loop_.stop(); };
  loop_.post([this] { waiter_.wake(); });
  loop_.run();
  EXPECT_GE(waiter_.waits, 1);
}

TEST_F(WaitingElsewhereTest, DescriptorsAreServedAgainAndAgain) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  int calls = 0;
  loop_.watch_fd(reader.get(), EPOLLIN, [&](std::uint32_t) {
    char byte = 0;
    ASSERT_EQ(::read(reader.get(), &byte, 1), 1);
    if (++calls == 3) return loop_.stop();
    ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  });
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  loop_.run();
  EXPECT_EQ(calls, 3);
  loop_.unwatch_fd(reader.get());
}

TEST_F(WaitingElsewhereTest, ItsEndFromWithinLeavesTheLoopRunning) {
  bool rang = false;
  waiter_.find = [&] {
    loop_.wait_in(nullptr);
    loop_.at(loop_.now() + 1ms, [&] {
      rang = true;
      loop_.stop();
    });
  };
  loop_.post([this] { waiter_.wake(); });
  loop_.run();
  EXPECT_TRUE(rang);
}

TEST(LifetimeTest, ACallbackWrappedByAnEndedOwnerDoesNothing) {
  int calls = 0;
  std::function<void()> callback;
  {
    Lifetime lifetime;
    callback = lifetime.wrap([&] { ++calls; });
    callback();
  }
  callback();
  EXPECT_EQ(calls, 1);
}

}  // namespace event_loop_test
}  // namespace muster
