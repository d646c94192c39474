#include "platform/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <vector>

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

TEST(EventLoopTest, ATimerMayPostAndStop) {
  EventLoop loop;
  int ran = 0;
  Timer timer(loop);
  timer.arm(5ms, [&] {
    loop.post([&] {
      ++ran;
      loop.stop();
    });
  });
  loop.run();
  EXPECT_EQ(ran, 1);
}

TEST(EventLoopTest, DescriptorsAreServedAgainAndAgain) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  int calls = 0;
  loop.watch_fd(reader.get(), EPOLLIN, [&](std::uint32_t) {
    char byte = 0;
    ASSERT_EQ(::read(reader.get(), &byte, 1), 1);
    if (++calls == 3) return loop.stop();
    ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  });
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  loop.run();
  EXPECT_EQ(calls, 3);
  loop.unwatch_fd(reader.get());
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
