#include "platform/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

namespace muster {
namespace signals_test {

TEST(StopSignalsTest, ASignalEndsTheWait) {
  StopSignals signals;
  ASSERT_EQ(::raise(SIGTERM), 0);
  signals.wait();
}

TEST(StopSignalsTest, ARequestOfTheProgramEndsTheWait) {
  StopSignals signals;
  std::thread other([&] { signals.request(); });
  signals.wait();
  other.join();
}

TEST(StopSignalsTest, ASecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        StopSignals signals;
        ::raise(SIGINT);
        signals.wait();
        ::raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(IgnoreBrokenPipesTest, AWriteWithoutReaderIsAnError) {
  ignore_broken_pipes();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[0]);
  EXPECT_EQ(::write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  ::close(ends[1]);
}

}  // namespace signals_test
}  // namespace muster
