#include "platform/signal_watch.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"

namespace muster {

SignalWatch::SignalWatch(EventLoop& loop, const std::vector<int>& numbers,
                         std::function<void(int)> received)
    : loop_(loop) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : numbers) {
    struct sigaction current {};
    MUSTER_CHECK(::sigaction(number, nullptr, &current) == 0);
    if (current.sa_handler != SIG_IGN) ::sigaddset(&set, number);
  }
  MUSTER_CHECK(::pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  MUSTER_CHECK(signals_.valid());
  loop_.watch_fd(signals_.get(), EPOLLIN,
                 [fd = signals_.get(), received = std::move(received)](std::uint32_t) {
                   signalfd_siginfo info{};
                   while (::read(fd, &info, sizeof info) == sizeof info) {
                     received(static_cast<int>(info.ssi_signo));
                   }
                 });
}

SignalWatch::~SignalWatch() {
  loop_.unwatch_fd(signals_.get());
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace muster
