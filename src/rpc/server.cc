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
constexpr Duration kTurn = 20ms;
/// How often it is looked whether all answers have left.
constexpr Duration kDrainLook = 5ms;
/// Clients that have no call left are given so long to close their connections.
constexpr Duration kFarewell = 500ms;

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
    options_.connection.taken_within = options_.taken_within;
  }
  ~Impl() { close(); }

  Result<std::uint16_t> start() {
    listener_ = std::make_unique<Listener>(
        loop_,
        ListenerOptions{.host = options_.host,
                        .port = options_.port,
                        .descriptors_max = options_.descriptors_max,
                        .refused = [this](int fd) { refused(Refusal::kFull, remote_host(fd)); }},
        [this](UniqueFd fd) { accepted(std::move(fd)); });
    const auto port = listener_->start();
    if (!port) {
      listener_.reset();
      return port;
    }
    look();
    return port;
  }

  void limit_connections(const ConnectionBudget::Options& limits, int descriptors_max) {
    host_.connections.use(limits);
    options_.descriptors_max = descriptors_max;
    if (listener_) listener_->set_descriptors_max(descriptors_max);
  }
  [[nodiscard]] std::size_t calls() const { return host_.placed; }
  [[nodiscard]] std::size_t connections() const { return peers_.size() + lobby_.size(); }
  [[nodiscard]] SendTurn& turn() { return host_.turn; }

  void drain(Duration limit, std::function<void()> done) {
    if (std::exchange(host_.draining, true)) return;
    listener_.reset();
    for (const auto& [number, fd] : std::exchange(lobby_, {})) anteroom_.left(number);
    for (const auto& peer : all_peers()) {
      if (peer->connection().ready()) {
        peer->wind_down();
      } else {
        peer->connection().close();
      }
    }
    for (const auto& call : all_calls()) {
      if (lasts(*call)) call->stop_reading();
    }
    drained_ = std::move(done);
    drain_by_ = loop_.now() + limit;
    farewell_by_ = loop_.now() + kFarewell;
    look_at_drain();
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
      loop_.post([kept = peer] {});  // Its session may be at work further up.
    }
  }

 private:
  // Not at once: all that come in a turn of the loop are let in together.
  void accepted(UniqueFd fd) {
    const Anteroom::Guest number = ++last_number_;
    std::string remote = remote_host(fd.get());
    anteroom_.came(number, network_of(remote), loop_.now());
    lobby_.emplace(number, Waiting{std::move(fd), std::move(remote)});
    let_in_soon();
  }

  void refused(Refusal why, const std::string& remote) {
    if (options_.connection_refused) options_.connection_refused(why, remote);
  }

  // As a task, so that a connection that begins greets its client before it reads.
  void let_in_soon() {
    if (std::exchange(soon_, true)) return;
    loop_.post(lifetime_.wrap([this] { let_in(); }));
  }
  void let_in_after(Duration time) {
    wait_.arm(time, [this] { let_in_soon(); });
  }

  /// Lets those in whose turn it is.
  void let_in() {
    soon_ = false;
    const Anteroom::Turn turn = anteroom_.next(loop_.now());
    for (const auto& [number, why] : turn.close)
      give_up(number, why == Anteroom::Why::kRoom ? Refusal::kWaiting : Refusal::kSlow);
    for (const Anteroom::Guest number : turn.begin)
      begin(number, std::move(lobby_.extract(number).mapped().fd));
    if (turn.more) return let_in_after(0s);
    if (!anteroom_.waiting()) return wait_.cancel();
    if (!wait_.armed()) let_in_after(kTurn);
  }

  void give_up(Anteroom::Guest number, Refusal why) {
    if (const auto waiting = lobby_.extract(number)) {
      return refused(why, waiting.mapped().remote);
    }
    const auto found = peers_.find(number);
    if (found == peers_.end()) return;
    const auto peer = found->second;
    refused(why, peer->connection().remote());
    peer->connection().close();
  }

  void begin(Anteroom::Guest number, UniqueFd fd) {
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
        std::move(fd), std::move(ssl), lifetime_.wrap([this, number] { anteroom_.spoke(number); }),
        lifetime_.wrap([this, number] { moved_on(number); }),
        [this, number, alive = lifetime_.token(), weak = std::weak_ptr(peer)](const Error& why) {
          const auto gone = weak.lock();
          if (gone) gone->lost();
          if (!gone || alive.expired()) return;
          ended(number, gone, why);
        });
  }

  /// It is in, or it has gone.
  void moved_on(Anteroom::Guest number) {
    anteroom_.left(number);
    // Not now: this may be within a call of its session's, or of let_in() itself.
    if (anteroom_.waiting()) let_in_soon();
  }

  void ended(Anteroom::Guest number, const std::shared_ptr<ServerPeer>& peer, const Error& why) {
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
      for (const auto& peer : all_peers()) peer->look(loop_.now());
      look();
    });
  }

  [[nodiscard]] std::vector<std::shared_ptr<ServerPeer>> all_peers() const {
    std::vector<std::shared_ptr<ServerPeer>> all;
    all.reserve(peers_.size());
    for (const auto& [number, peer] : peers_) all.push_back(peer);
    return all;
  }
  [[nodiscard]] std::vector<std::shared_ptr<ServerCall>> all_calls() const {
    std::vector<std::shared_ptr<ServerCall>> all;
    all.reserve(host_.calls.size());
    for (ServerCall* call : host_.calls) all.push_back(call->shared_from_this());
    return all;
  }
  [[nodiscard]] bool lasts(const ServerCall& call) const {
    return options_.lasts && options_.lasts(call.method());
  }

  void look_at_drain() {
    drain_timer_.arm(kDrainLook, [this] {
      const MonoTime now = loop_.now();
      const bool late = now >= drain_by_;
      for (const auto& call : all_calls()) {
        if (call->finishing()) continue;
        // What was read of it is answered by now: a look has passed, and nothing is being written.
        if (lasts(*call) && !call->writing()) {
          call->finish(stopping_status());
        } else if (late) {
          call->finish({Code::kUnknown, "this server stopped before it had an answer", {}});
        }
      }
      for (const auto& peer : all_peers()) {
        if (now >= farewell_by_ && peer->calls() == 0) peer->connection().close();
      }
      if (peers_.empty() || now >= drain_by_ + kFarewell) return std::exchange(drained_, {})();
      look_at_drain();
    });
  }

  EventLoop& loop_;
  ServerOptions options_;
  ServerHost host_;
  std::unique_ptr<Listener> listener_;
  std::map<Anteroom::Guest, std::shared_ptr<ServerPeer>> peers_;
  Anteroom anteroom_;
  struct Waiting {
    UniqueFd fd;
    std::string remote;
  };
  std::map<Anteroom::Guest, Waiting> lobby_;
  Timer wait_;
  bool soon_ = false;  ///< let_in() is posted.
  Anteroom::Guest last_number_ = 0;
  Timer look_;
  Timer drain_timer_;
  std::function<void()> drained_;
  MonoTime drain_by_{};
  MonoTime farewell_by_{};
  bool closed_ = false;
  Lifetime lifetime_;
};

Server::Server(EventLoop& loop, ServerOptions options, std::function<void(CallPtr)> on_call)
    : impl_(std::make_unique<Impl>(loop, std::move(options), std::move(on_call))) {}
Server::~Server() = default;

Result<std::uint16_t> Server::start() {
  return impl_->start();
}
void Server::limit_connections(const ConnectionBudget::Options& limits, int descriptors_max) {
  impl_->limit_connections(limits, descriptors_max);
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
