#include "platform/doorbell.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace muster {

Doorbell::Doorbell(EventLoop& loop, std::function<void()> rung)
    : loop_(loop), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  MUSTER_CHECK(bell_.valid());
  loop_.watch_fd(bell_.get(), EPOLLIN, [fd = bell_.get(), rung = std::move(rung)](std::uint32_t) {
    std::uint64_t rings = 0;
    if (::read(fd, &rings, sizeof rings) == sizeof rings) rung();
  });
}

Doorbell::~Doorbell() {
  loop_.unwatch_fd(bell_.get());
}

// It cannot fail: a full counter is one that rings.
void Doorbell::ring() noexcept {
  const int before = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof one);
  errno = before;
}

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace muster
