#include "platform/http/server.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "platform/http/connection.h"
#include "platform/listener.h"
#include "platform/signals.h"

namespace muster::http {

class Server::Impl {
 public:
  Impl(EventLoop& loop, ServerOptions options, Handler handler)
      : options_(std::move(options)),
        host_{loop, options_, std::move(handler),
              [this](Connection& gone) { connections_.erase(&gone); }},
        listener_(loop, listener_options(), [this](UniqueFd fd) { begin(std::move(fd)); }) {}

  ~Impl() { close(); }

  Result<std::uint16_t> start() {
    // OpenSSL writes to sockets as to files: a client that goes would end the process.
    if (options_.tls) ignore_broken_pipes();
    return listener_.start();
  }

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

  void close() {
    host_.handler = {};
    listener_.close();
    while (!connections_.empty()) {
      const auto connection = connections_.begin()->second;
      connection->close();
    }
  }

 private:
  [[nodiscard]] ListenerOptions listener_options() const {
    return {.host = options_.host, .port = options_.port, .room = [this] {
              return connections_.size() < options_.connections_max || dispensable() != nullptr;
            }};
  }

  /// The one that is missed least; null when all are answering.
  [[nodiscard]] std::shared_ptr<Connection> dispensable() const {
    const auto rank = [](const auto& each) {
      return std::tuple(each.second->phase(), each.second->waits_since());
    };
    const auto first =
        std::min_element(connections_.begin(), connections_.end(),
                         [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    const bool busy =
        first == connections_.end() || first->second->phase() == Connection::Phase::kAnswering;
    return busy ? nullptr : first->second;
  }

  void begin(UniqueFd fd) {
    const TlsContext tls = options_.tls ? options_.tls() : nullptr;
    // Nothing may be served in plaintext because a certificate could not be read.
    if (options_.tls && !tls) return;
    // A client without a request, or with an unfinished one, gives way: no holder of connections,
    // not even a stranger, keeps others from being answered.
    if (connections_.size() >= options_.connections_max) {
      if (const auto last = dispensable()) last->close();
    }
    auto connection = std::make_shared<Connection>(host_, std::move(fd), tls);
    connections_.emplace(connection.get(), connection);
    connection->begin();
  }

  ServerOptions options_;
  Connection::Host host_;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  Listener listener_;
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
