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

sigset_t stop_set(StopSignals::HangUp hang_up) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  struct sigaction current {};
  MUSTER_CHECK(::sigaction(SIGHUP, nullptr, &current) == 0);
  const bool ignored = current.sa_handler == SIG_IGN;
  if (hang_up == StopSignals::HangUp::kStops && !ignored) ::sigaddset(&set, SIGHUP);
  return set;
}

void ignore_signal(int number) {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  MUSTER_CHECK(::sigaction(number, &ignore, nullptr) == 0);
}

}  // namespace

StopSignals::StopSignals(HangUp hang_up) : set_(stop_set(hang_up)) {
  MUSTER_CHECK(::pthread_sigmask(SIG_BLOCK, &set_, nullptr) == 0);
  signals_.reset(::signalfd(-1, &set_, SFD_CLOEXEC));
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
  MUSTER_CHECK(::pthread_sigmask(SIG_UNBLOCK, &set_, nullptr) == 0);
  return true;
}

void StopSignals::request() {
  MUSTER_CHECK(::eventfd_write(requests_.get(), 1) == 0);
}

void ignore_broken_pipes() {
  ignore_signal(SIGPIPE);
}

void ignore_file_size_signal() {
  ignore_signal(SIGXFSZ);
}

}  // namespace muster
