#include "rpc/server.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "platform/listener.h"
#include "rpc/server_call.h"

namespace muster::rpc {
namespace {

/// How often connections are looked through for those that are late or silent.
constexpr Duration kLook = 1s;
/// And how often it is looked whose turn it is while some wait to be let in.
constexpr Duration kTurn = 100ms;
/// How often it is looked whether all answers have left.
constexpr Duration kDrainLook = 5ms;

}  // namespace

class Server::Impl {
 public:
  Impl(EventLoop& loop, ServerOptions options, std::function<void(CallPtr)> on_call)
      : loop_(loop),
        options_(std::move(options)),
        host_(loop, options_),
        anteroom_(options_.anteroom),
        wait_(loop),
        look_(loop),
        drain_timer_(loop) {
    host_.on_call = std::move(on_call);
  }
  ~Impl() { close(); }

  Result<std::uint16_t> start() {
    listener_ =
        std::make_unique<Listener>(loop_,
                                   ListenerOptions{.host = options_.host,
                                                   .port = options_.port,
                                                   .descriptors_max = options_.descriptors_max,
                                                   .refused = options_.connection_refused},
                                   [this](UniqueFd fd) { accepted(std::move(fd)); });
    const auto port = listener_->start();
    if (!port) {
      listener_.reset();
      return port;
    }
    look();
    return port;
  }

  void set_descriptors_max(int most) {
    options_.descriptors_max = most;
    if (listener_) listener_->set_descriptors_max(most);
  }
  [[nodiscard]] std::size_t calls() const { return host_.calls.size(); }
  [[nodiscard]] std::size_t connections() const { return peers_.size() + lobby_.size(); }
  [[nodiscard]] SendTurn& turn() { return host_.turn; }

  void drain(Duration limit, std::function<void()> done) {
    for (const auto& [number, peer] : peers_) peer->leave();
    wait_for_answers(loop_.now() + limit, std::move(done));
  }

  void close() {
    if (std::exchange(closed_, true)) return;
    wait_.cancel();
    look_.cancel();
    drain_timer_.cancel();
    host_.lifetime.renew();
    lifetime_.renew();
    host_.on_call = {};
    host_.ready.clear();
    listener_.reset();
    lobby_.clear();
    for (ServerCall* call : std::vector<ServerCall*>(host_.calls.begin(), host_.calls.end())) {
      call->abandon();
    }
    for (const auto& [number, peer] : std::exchange(peers_, {})) {
      peer->connection().close();
      loop_.post([peer = peer] {});  // Its session may be at work further up.
    }
  }

 private:
  void accepted(UniqueFd fd) {
    const int number = ++last_number_;
    anteroom_.came(number, remote_host(fd.get()));
    lobby_.emplace(number, std::move(fd));
    let_in();
  }

  /// Lets those in whose turn it is.
  void let_in() {
    const Anteroom::Turn turn = anteroom_.next(loop_.now());
    for (const int number : turn.close) {
      if (options_.connection_refused) options_.connection_refused();
      if (lobby_.erase(number) > 0) continue;
      if (const auto found = peers_.find(number); found != peers_.end()) {
        const auto peer = found->second;
        peer->connection().close();
      }
    }
    for (const int number : turn.begin) begin(number, std::move(lobby_.extract(number).mapped()));
    if (!anteroom_.waiting()) return wait_.cancel();
    if (!wait_.armed()) wait_.arm(kTurn, [this] { let_in(); });
  }

  void begin(int number, UniqueFd fd) {
    SslPtr ssl(nullptr, SSL_free);
    if (options_.tls) {
      Result<SslPtr> made = options_.tls();
      if (!made) {
        anteroom_.left(number);
        return log_warn("a connection was refused", {{"error", made.error().message}});
      }
      ssl = *std::move(made);
    }
    auto peer = std::make_shared<ServerPeer>(host_, number);
    peers_.emplace(number, peer);
    peer->begin(
        std::move(fd), std::move(ssl), lifetime_.wrap([this, number] { moved_on(number); }),
        [this, number, alive = lifetime_.token(), weak = std::weak_ptr(peer)](const Error& why) {
          const auto gone = weak.lock();
          if (gone) gone->lost();
          if (!gone || alive.expired()) return;
          ended(number, gone, why);
        });
  }

  /// It is in, or it has gone.
  void moved_on(int number) {
    anteroom_.left(number);
    // Not now: this may be within a call of its session's, or of let_in() itself.
    if (anteroom_.waiting()) wait_.arm(0s, [this] { let_in(); });
  }

  void ended(int number, const std::shared_ptr<ServerPeer>& peer, const Error& why) {
    peers_.erase(number);
    moved_on(number);
    // Its session may be at work further up: it goes when that is done.
    loop_.post([peer] {});
    const Breach breach = peer->connection().session().breach();
    if (breach != Breach::kNone && options_.cut) {
      const auto& shown = peer->certificate();
      options_.cut(breach, peer->connection().remote(),
                   shown ? std::string_view(*shown) : std::string_view(), why.message);
    }
  }

  void look() {
    look_.arm(kLook, [this] {
      std::vector<std::shared_ptr<ServerPeer>> all;
      all.reserve(peers_.size());
      for (const auto& [number, peer] : peers_) all.push_back(peer);
      for (const auto& peer : all) peer->look(loop_.now());
      look();
    });
  }

  void wait_for_answers(MonoTime by, std::function<void()> done) {
    const auto leaving = [](const ServerCall* call) { return call->finishing(); };
    if (loop_.now() >= by || std::ranges::none_of(host_.calls, leaving)) return done();
    drain_timer_.arm(kDrainLook,
                     [this, by, done = std::move(done)] { wait_for_answers(by, done); });
  }

  EventLoop& loop_;
  ServerOptions options_;
  ServerHost host_;
  std::unique_ptr<Listener> listener_;
  std::map<int, std::shared_ptr<ServerPeer>> peers_;
  Anteroom anteroom_;
  std::map<int, UniqueFd> lobby_;  ///< Those who wait there.
  Timer wait_;
  int last_number_ = 0;
  Timer look_;
  Timer drain_timer_;
  bool closed_ = false;
  Lifetime lifetime_;
};

Server::Server(EventLoop& loop, ServerOptions options, std::function<void(CallPtr)> on_call)
    : impl_(std::make_unique<Impl>(loop, std::move(options), std::move(on_call))) {}
Server::~Server() = default;

Result<std::uint16_t> Server::start() {
  return impl_->start();
}
void Server::set_descriptors_max(int most) {
  impl_->set_descriptors_max(most);
}
std::size_t Server::calls() const {
  return impl_->calls();
}
std::size_t Server::connections() const {
  return impl_->connections();
}
SendTurn& Server::turn() {
  return impl_->turn();
}
void Server::drain(Duration limit, std::function<void()> done) {
  impl_->drain(limit, std::move(done));
}
void Server::close() {
  impl_->close();
}

}  // namespace muster::rpc
