#include "platform/http/server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "platform/http/connection.h"

namespace muster::http {
namespace {

/// How long a listener that is full, or out of descriptors, looks away.
constexpr Duration kPause = 100ms;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Result<SocketAddress> socket_address(const std::string& host, std::uint16_t port) {
  SocketAddress address;
  const std::string numeric = host == "localhost" ? "127.0.0.1" : host;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (::inet_pton(AF_INET, numeric.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.size = sizeof *v4;
    return address;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET6, numeric.c_str(), &v6->sin6_addr) != 1) {
    return {Errc::kInvalid, "\"" + host + "\" is no numeric address to listen on"};
  }
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
  address.size = sizeof *v6;
  return address;
}

}  // namespace

class Server::Impl {
 public:
  Impl(EventLoop& loop, ServerOptions options, Handler handler)
      : options_(std::move(options)),
        host_{loop, options_, std::move(handler),
              [this](Connection& gone) { connections_.erase(&gone); }},
        pause_(loop) {}

  ~Impl() { close(); }

  Result<std::uint16_t> start() {
    const auto address = socket_address(options_.host, options_.port);
    if (!address) return address.error();
    listener_.reset(
        ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    const auto* name = reinterpret_cast<const sockaddr*>(&address->storage);
    if (!listener_.valid() ||
        ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(listener_.get(), name, address->size) != 0 || ::listen(listener_.get(), 128) != 0) {
      const std::string why = std::strerror(errno);
      listener_.reset();
      return {Errc::kUnavailable, "cannot listen on " + options_.host + " port " +
                                      std::to_string(options_.port) + " for HTTP: " + why};
    }
    listen();
    return port();
  }

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

  void close() {
    host_.handler = {};
    pause_.cancel();
    if (listener_.valid()) host_.loop.unwatch_fd(listener_.get());
    listener_.reset();
    while (!connections_.empty()) {
      const auto connection = connections_.begin()->second;
      connection->close();
    }
  }

 private:
  [[nodiscard]] std::uint16_t port() const {
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    return ntohs(bound.ss_family == AF_INET6
                     ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                     : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  }

  void listen() {
    host_.loop.watch_fd(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
  }

  void accept() {
    while (connections_.size() < options_.connections_max) {
      UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd.valid()) {
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
        break;
      }
      const int on = 1;
      ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const TlsContext tls = options_.tls ? options_.tls() : nullptr;
      // Nothing may be served in plaintext because a certificate could not be read.
      if (options_.tls && !tls) continue;
      auto connection = std::make_shared<Connection>(host_, std::move(fd), tls);
      connections_.emplace(connection.get(), connection);
      connection->begin();
    }
    host_.loop.unwatch_fd(listener_.get());
    pause_.arm(kPause, [this] { listen(); });
  }

  ServerOptions options_;
  Connection::Host host_;
  UniqueFd listener_;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  Timer pause_;
};

Server::Server(EventLoop& loop, ServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(loop, std::move(options), std::move(handler))) {}

Server::~Server() = default;

Result<std::uint16_t> Server::start() {
  return impl_->start();
}

std::size_t Server::connections() const {
  return impl_->connections();
}

void Server::close() {
  impl_->close();
}

}  // namespace muster::http
