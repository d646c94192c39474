#include "platform/signal_watch.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace muster {
namespace signal_watch_test {

TEST(SignalWatchTest, ASignalIsAnEventOfTheLoop) {
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    EventLoop loop;
    std::vector<int> heard;
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    struct sigaction hangup {};
    ::sigaction(SIGHUP, &ignore, &hangup);
    const SignalWatch watch(loop, {SIGUSR1, SIGUSR2, SIGHUP}, [&](int number) {
      heard.push_back(number);
      if (number == SIGUSR2) loop.stop();
    });
    ::raise(SIGHUP);  // Ignored as nohup would have it, and so it stays.
    ::raise(SIGUSR1);
    ::raise(SIGUSR2);
    EXPECT_TRUE(loop.run_until(loop.now() + 30s));
    EXPECT_EQ(heard, (std::vector<int>{SIGUSR1, SIGUSR2}));
    ::sigaction(SIGHUP, &hangup, nullptr);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(SignalWatchTest, SignalsHaveTheirUsualNames) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(99), "signal 99");
}

}  // namespace signal_watch_test
}  // namespace muster
