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

TEST(EventLoopTest, OneRoundServesWhatIsThereAndReturns) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  int calls = 0;
  loop.watch_fd(reader.get(), EPOLLIN, [&](std::uint32_t) { ++calls; });
  loop.run_once(loop.now());
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  bool ran = false;
  loop.post([&] { ran = true; });
  loop.run_once(loop.now() + 1h);
  EXPECT_TRUE(ran);
  EXPECT_EQ(calls, 1);
}

/// A pipe of which each byte is read by itself, at the moments that are kept.
struct Pipe {
  explicit Pipe(EventLoop& on) : loop(on) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
    loop.watch_fd(reader.get(), EPOLLIN, [this](std::uint32_t) {
      char byte = 0;
      EXPECT_EQ(::read(reader.get(), &byte, 1), 1);
      heard.push_back(loop.now());
    });
  }
  void write() const { EXPECT_EQ(::write(writer.get(), "x", 1), 1); }

  EventLoop& loop;
  UniqueFd reader;
  UniqueFd writer;
  std::vector<MonoTime> heard;
};

TEST(EventLoopTest, PatientDescriptorsWaitAndOthersDoNot) {
  EventLoop loop;
  Pipe patient(loop), other(loop);
  loop.set_patient(patient.reader.get(), true);
  for (int i = 0; i < 20; ++i) patient.write();
  other.write();
  const MonoTime end = loop.now() + 20s;
  while (patient.heard.size() < 20 && loop.now() < end) loop.run_once(end);
  ASSERT_EQ(patient.heard.size(), 20u);
  ASSERT_EQ(other.heard.size(), 1u);
  EXPECT_LT(other.heard[0], patient.heard[0]);
  for (std::size_t i = 1; i < 20; ++i) {
    EXPECT_GE(patient.heard[i] - patient.heard[i - 1], 90us) << "one look, then a wait";
  }
  // Impatient again, all of it comes as fast as it can.
  loop.set_patient(patient.reader.get(), false);
  for (int i = 0; i < 100; ++i) patient.write();
  const MonoTime began = loop.now();
  while (patient.heard.size() < 120 && loop.now() < end) loop.run_once(end);
  ASSERT_EQ(patient.heard.size(), 120u);
  EXPECT_LT(loop.now() - began, 100 * 100us);
  loop.unwatch_fd(patient.reader.get());
}

TEST(EventLoopTest, APatientDescriptorThatWasSilentIsHeardAtOnceAndCostsNothing) {
  EventLoop loop;
  Pipe patient(loop);
  loop.set_patient(patient.reader.get(), true);
  int rounds = 0;
  const MonoTime silent_until = loop.now() + 50ms;
  while (loop.now() < silent_until) {
    loop.run_once(silent_until);
    ++rounds;
  }
  EXPECT_LT(rounds, 20) << "it does not look for what is not there";
  // A timer is not held up, and what it writes is heard at once.
  MonoTime written{};
  Timer timer(loop);
  timer.arm(1ms, [&] {
    written = loop.now();
    patient.write();
  });
  const MonoTime end = loop.now() + 20s;
  while (patient.heard.empty() && loop.now() < end) loop.run_once(end);
  ASSERT_EQ(patient.heard.size(), 1u);
  EXPECT_GT(written, MonoTime{});
}

TEST(EventLoopTest, APatientDescriptorMayEndItsOwnWatch) {
  EventLoop loop;
  Pipe first(loop), second(loop);
  loop.watch_fd(first.reader.get(), EPOLLIN,
                [&](std::uint32_t) { loop.unwatch_fd(first.reader.get()); });
  loop.set_patient(first.reader.get(), true);
  first.write();
  loop.run_until(loop.now() + 10ms);
  // Nothing is patient any more: the next one watched under this number is heard at once.
  second.write();
  const MonoTime end = loop.now() + 20s;
  while (second.heard.empty() && loop.now() < end) loop.run_once(end);
  EXPECT_EQ(second.heard.size(), 1u);
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
