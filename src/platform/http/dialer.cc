#include "platform/http/dialer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace muster::http {
namespace {

constexpr Duration kHeadStart = 250ms;

/// The first family first, then in turns.
std::deque<SocketAddress> alternating(const std::vector<SocketAddress>& addresses) {
  std::deque<SocketAddress> first, second, all;
  for (const SocketAddress& each : addresses) {
    (each.family() == addresses.front().family() ? first : second).push_back(each);
  }
  while (!first.empty() || !second.empty()) {
    for (auto* family : {&first, &second}) {
      if (family->empty()) continue;
      all.push_back(family->front());
      family->pop_front();
    }
  }
  return all;
}

}  // namespace

Dialer::~Dialer() {
  for (const UniqueFd& each : attempts_) loop_.unwatch_fd(each.get());
}

void Dialer::dial(const std::vector<SocketAddress>& addresses, Connected done) {
  done_ = std::move(done);
  addresses_ = alternating(addresses);
  next_.arm(Duration(0), [this] { try_next(); });
}

void Dialer::try_next() {
  next_.cancel();
  while (!addresses_.empty()) {
    const SocketAddress address = addresses_.front();
    addresses_.pop_front();
    UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd.valid() || (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.bytes),
                                  address.size) != 0 &&
                        errno != EINPROGRESS)) {
      error_ = errno;
      continue;
    }
    const int number = fd.get();
    attempts_.push_back(std::move(fd));
    loop_.watch_fd(number, EPOLLOUT, [this, number](std::uint32_t) { look(number); });
    if (!addresses_.empty()) next_.arm(kHeadStart, [this] { try_next(); });
    return;
  }
  if (!attempts_.empty()) return;
  end({Errc::kUnavailable, std::system_category().message(error_ != 0 ? error_ : ENETUNREACH)});
}

void Dialer::look(int fd) {
  const auto at = std::find_if(attempts_.begin(), attempts_.end(),
                               [fd](const UniqueFd& each) { return each.get() == fd; });
  if (at == attempts_.end()) return;
  UniqueFd attempt = std::move(*at);
  attempts_.erase(at);
  loop_.unwatch_fd(fd);
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) {
    error_ = error;
    return try_next();
  }
  // A request leaves when it is there; the kernel's way to gather more would delay it.
  const int on = 1;
  static_cast<void>(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  end(std::move(attempt));
}

void Dialer::end(Result<UniqueFd> result) {
  next_.cancel();
  for (const UniqueFd& each : attempts_) loop_.unwatch_fd(each.get());
  attempts_.clear();
  std::exchange(done_, {})(std::move(result));
}

void Names::resolve(const std::string& host, std::uint16_t port, Resolver::Answer answer) {
  const std::string key = host + " " + std::to_string(port);
  auto& waiting = waiting_[key];
  waiting.push_back(std::move(answer));
  if (waiting.size() > 1) return;
  resolver_.resolve(host, port, [this, key](const Result<std::vector<SocketAddress>>& found) {
    const auto answered = waiting_.extract(key);
    for (const auto& each : answered.mapped()) each(found);
  });
}

}  // namespace muster::http
