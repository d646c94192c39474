#include "platform/signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/check.h"

namespace muster {
namespace {

sigset_t stop_set() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = stop_set();
  MUSTER_CHECK(::pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC));
  requests_.reset(::eventfd(0, EFD_CLOEXEC));
  MUSTER_CHECK(signals_.get() >= 0 && requests_.get() >= 0);
}

void StopSignals::wait() {
  MUSTER_CHECK(wait_ms(-1));
}

bool StopSignals::wait_for(Duration limit) {
  return wait_ms(static_cast<int>(to_ms(limit)));
}

bool StopSignals::wait_ms(int limit) {
  std::array<pollfd, 2> either{pollfd{signals_.get(), POLLIN, 0},
                               pollfd{requests_.get(), POLLIN, 0}};
  int ready = ::poll(either.data(), either.size(), limit);
  while (ready < 0) {
    MUSTER_CHECK(errno == EINTR);
    ready = ::poll(either.data(), either.size(), limit);
  }
  if (ready == 0) return false;
  if ((either[0].revents & POLLIN) != 0) {
    signalfd_siginfo taken{};
    MUSTER_CHECK(::read(signals_.get(), &taken, sizeof taken) == sizeof taken);
  }
  const sigset_t set = stop_set();
  MUSTER_CHECK(::pthread_sigmask(SIG_UNBLOCK, &set, nullptr) == 0);
  return true;
}

void StopSignals::request() {
  MUSTER_CHECK(::eventfd_write(requests_.get(), 1) == 0);
}

void ignore_broken_pipes() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  MUSTER_CHECK(::sigaction(SIGPIPE, &ignore, nullptr) == 0);
}

}  // namespace muster
