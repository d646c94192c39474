#include "platform/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace muster {
namespace {

/// How long a listener that is full, or out of descriptors, looks away.
constexpr Duration kPause = 100ms;
/// Further ones wait for the loop's next turn, so that a flood of connections does not hold up
/// those that stand.
constexpr int kAcceptsAtOnce = 64;
constexpr int kBacklog = 1024;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

bool every_interface(const ListenerOptions& options) {
  return options.host.empty() || options.host == "0.0.0.0" || options.host == "::";
}

Result<Addresses> addresses_of(const ListenerOptions& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(every_interface(options) ? nullptr : options.host.c_str(),
                                   std::to_string(options.port).c_str(), &hints, &found);
  if (failed != 0) {
    return {Errc::kUnavailable, "cannot listen on " + options.host + ": " + ::gai_strerror(failed)};
  }
  return Addresses(found, &::freeaddrinfo);
}

/// With errno when it is not valid.
UniqueFd listen_on(const addrinfo& address, bool alone) {
  UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // The other address has a socket of its own.
  if (address.ai_family == AF_INET6 && !alone) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (::bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 &&
      ::listen(fd.get(), kBacklog) == 0) {
    return fd;
  }
  const int why = errno;
  fd.reset();
  errno = why;
  return fd;
}

in_port_t& port_in(sockaddr* address) {
  return address->sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                        : reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

in_port_t port_of(const UniqueFd& socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  auto* const name = reinterpret_cast<sockaddr*>(&bound);
  ::getsockname(socket.get(), name, &size);
  return port_in(name);
}

/// A name may stand for an address of a protocol that this machine does not speak.
bool is_absent(int error) {
  return error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
}

}  // namespace

Listener::Listener(EventLoop& loop, ListenerOptions options, std::function<void(UniqueFd)> accepted)
    : loop_(loop), options_(std::move(options)), accepted_(std::move(accepted)), pause_(loop) {}

Listener::~Listener() {
  close();
}

Result<std::uint16_t> Listener::start() {
  const auto addresses = addresses_of(options_);
  if (!addresses) return addresses.error();
  int why = EADDRNOTAVAIL;
  for (const addrinfo* each = addresses->get(); each != nullptr; each = each->ai_next) {
    // One port for all of them, also when the kernel picks it.
    if (!sockets_.empty()) port_in(each->ai_addr) = port_of(sockets_.front());
    UniqueFd socket = listen_on(*each, addresses->get()->ai_next == nullptr);
    if (socket.valid()) {
      sockets_.push_back(std::move(socket));
    } else if (!is_absent(why = errno)) {
      sockets_.clear();
      break;
    }
  }
  if (sockets_.empty()) {
    return {Errc::kUnavailable,
            "cannot listen on " + (every_interface(options_) ? "any interface," : options_.host) +
                " port " + std::to_string(options_.port) + ": " + std::strerror(why)};
  }
  watch();
  return ntohs(port_of(sockets_.front()));
}

void Listener::close() {
  pause_.cancel();
  for (const UniqueFd& each : sockets_) loop_.unwatch_fd(each.get());
  sockets_.clear();
}

void Listener::watch() {
  for (const UniqueFd& each : sockets_) {
    loop_.watch_fd(each.get(), EPOLLIN, [this, fd = each.get()](std::uint32_t) { accept(fd); });
  }
}

void Listener::pause() {
  for (const UniqueFd& each : sockets_) loop_.unwatch_fd(each.get());
  pause_.arm(kPause, [this] { watch(); });
}

void Listener::accept(int socket) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    if (options_.room && !options_.room()) return pause();
    UniqueFd fd(::accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd.valid()) {
      if (errno == EAGAIN) return;
      // Most errors are of one connection, which is gone; these are of this process.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return pause();
      continue;
    }
    if (options_.descriptors_max > 0 && fd.get() >= options_.descriptors_max) {
      if (options_.refused) options_.refused(fd.get());
      continue;
    }
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    accepted_(std::move(fd));
  }
}

std::string remote_host(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  int family = address.ss_family;
  if (family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
  } else if (family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr;
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&six);
    family = mapped ? AF_INET : AF_INET6;
    bytes = mapped ? static_cast<const void*>(&six.s6_addr[12]) : &six;
  }
  if (bytes == nullptr || ::inet_ntop(family, bytes, text.data(), text.size()) == nullptr)
    return {};
  return text.data();
}

}  // namespace muster
