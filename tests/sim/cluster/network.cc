#include "tests/sim/cluster/network.h"

#include <algorithm>

namespace muster::sim {
namespace {

/// How often a cut link is tried again, and for how long.
constexpr Duration kRetry = 250ms;
constexpr Duration kGiveUp = 8s;
/// A call without a deadline.
constexpr Duration kLong = 1h;

}  // namespace

/// The server's side of a call. Ends with its host, without a message.
class Wire::ServerCall final : public rpc::Call {
 public:
  explicit ServerCall(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}

  [[nodiscard]] const std::string& method() const override { return wire_->target_.method; }
  [[nodiscard]] Duration time_left() const override {
    const Duration passed = wire_->world_.now() - wire_->opened_;
    return std::max(Duration(0), wire_->target_.time_left.value_or(kLong) - passed);
  }
  [[nodiscard]] bool forwarded() const override { return wire_->target_.forwarded; }
  [[nodiscard]] std::string_view certificate() const override { return {}; }
  [[nodiscard]] std::string remote() const override { return wire_->host_; }
  [[nodiscard]] bool over() const override { return over_; }

  void read(std::function<void(std::optional<std::string>)> done) override {
    reader_ = std::move(done);
    pump();
  }
  void write(rpc::Payload message, std::function<void()> done) override {
    if (over_) return;
    wire_->push(false,
                [wire = wire_, message, done = std::move(done)] { wire->deliver(message, done); });
  }
  void finish(rpc::RpcStatus status) override {
    if (over_) return;
    wire_->push(false,
                [wire = wire_, status] { wire->end_client(status, client::Reach::kAnswered); });
    end(status);
  }
  void reply(rpc::Payload message) override {
    if (over_) return;
    wire_->push(false, [wire = wire_, message] {
      wire->deliver(message, {});
      wire->end_client({}, client::Reach::kAnswered);
    });
    end({});
  }
  void on_over(std::function<void()> over) override { on_over_ = std::move(over); }
  void cut() override { end(kGone); }

  void take(std::optional<std::string> message) {
    inbox_.push_back(std::move(message));
    pump();
  }
  /// Its host is gone: nobody is told.
  void abandon() {
    over_ = true;
    reader_ = {};
    on_over_ = {};
  }
  void end() { end(kGone); }
  void end(const rpc::RpcStatus& status) {
    if (std::exchange(over_, true)) return;
    reader_ = {};
    tell_ended(status);
    tell_gone();
    if (const auto told = std::exchange(on_over_, {})) told();
  }

 private:
  inline static const rpc::RpcStatus kGone{rpc::Code::kCancelled, "the client has gone", {}};

  void pump() {
    if (over_ || !reader_ || inbox_.empty()) return;
    std::optional<std::string> message = std::move(inbox_.front());
    // The end of the messages stays at the front.
    if (message) inbox_.pop_front();
    std::exchange(reader_, {})(std::move(message));
  }

  std::shared_ptr<Wire> wire_;
  std::deque<std::optional<std::string>> inbox_;
  std::function<void(std::optional<std::string>)> reader_;
  std::function<void()> on_over_;
  bool over_ = false;
};

void Network::listen(const std::string& host, Process& process, Serve serve) {
  listeners_[host] = {&process, std::move(serve)};
}

void Network::crash(const std::string& host) {
  listeners_.erase(host);
  const std::vector<std::weak_ptr<Wire>> all = wires_;
  for (const auto& weak : all) {
    const auto wire = weak.lock();
    if (!wire) continue;
    if (wire->host_ == host && wire->client_ != nullptr) {
      wire->client_ = nullptr;
      wire->end_ = {};
      wire->push(true, [wire] { wire->end_server(); });
    }
    if (wire->target_.host == host && wire->server_ != nullptr) {
      wire->server_ = nullptr;
      if (const auto call = wire->call_.lock()) call->abandon();
      wire->push(false, [wire] {
        wire->end_client({rpc::Code::kUnavailable, "connection reset", {}}, client::Reach::kSent);
      });
    }
  }
}

std::shared_ptr<Wire> Network::open(const std::string& host, Process& process, Target target,
                                    ClientEnd end) {
  std::erase_if(wires_, [](const auto& wire) { return wire.expired(); });
  auto wire = std::make_shared<Wire>(*this, host, process, std::move(target), std::move(end));
  wires_.push_back(wire);
  return wire;
}

void Network::resend(Duration delay, Target target, std::string message) {
  target.through_proxy = false;
  world_.after(delay, [this, target = std::move(target), message = std::move(message)] {
    const auto wire =
        open("proxy", proxy_, target,
             {[](const std::string&) {}, [](const rpc::RpcStatus&, client::Reach) {}});
    wire->send(message);
    wire->close();
  });
}

Wire::Wire(Network& network, std::string host, Process& process, Network::Target target,
           ClientEnd end)
    : network_(network),
      world_(network.world()),
      random_(world_.random().next()),
      host_(std::move(host)),
      client_(&process),
      target_(std::move(target)),
      opened_(world_.now()),
      left_(random_.chance(0.7)),
      end_(std::move(end)) {}

void Wire::send(std::string message) {
  push(true, [self = shared_from_this(), message = std::move(message)]() mutable {
    self->arrive(std::move(message));
  });
}

void Wire::close() {
  push(true, [self = shared_from_this()] {
    if (self->server_ == nullptr) return;
    self->server_->post([self] {
      if (const auto call = self->call_.lock()) call->take({});
    });
  });
}

void Wire::cancel() {
  if (client_ == nullptr) return;
  client_ = nullptr;
  end_ = {};
  // What has not left never does.
  if (!sent()) up_.waiting.clear();
  push(true, [self = shared_from_this()] { self->end_server(); });
}

Duration Wire::travel() {
  const NetworkFaults& faults = network_.faults;
  if (random_.chance(faults.slow)) return random_.between(faults.latency_max, faults.slow_max);
  return random_.between(faults.latency_min, faults.latency_max);
}

void Wire::push(bool up, std::function<void()> arrival) {
  Pipe& pipe = up ? up_ : down_;
  pipe.waiting.push_back(std::move(arrival));
  if (!pipe.retrying) pump(up);
}

void Wire::pump(bool up) {
  Pipe& pipe = up ? up_ : down_;
  const std::string& from = up ? host_ : target_.host;
  const std::string& to = up ? target_.host : host_;
  while (!pipe.waiting.empty()) {
    if (network_.is_cut(from, to)) {
      if (!pipe.stuck_since) pipe.stuck_since = world_.now();
      if (world_.now() - *pipe.stuck_since >= kGiveUp) return give_up();
      pipe.retrying = true;
      world_.after(kRetry, [self = shared_from_this(), up] {
        (up ? self->up_ : self->down_).retrying = false;
        self->pump(up);
      });
      return;
    }
    pipe.stuck_since.reset();
    if (up) left_ = true;
    pipe.last = std::max(pipe.last, world_.now() + travel());
    world_.at(pipe.last, std::move(pipe.waiting.front()));
    pipe.waiting.pop_front();
  }
}

void Wire::arrive(std::string message) {
  if (refused_) return;
  const auto listener = network_.listeners_.find(target_.host);
  if (!arrived_) {
    // Nobody listens: certainly nothing was done. Someone else listens than the one whom the
    // connection was to: it is gone, and with it what was sent.
    if (listener == network_.listeners_.end()) {
      refused_ = true;
      return push(false, [self = shared_from_this()] {
        self->end_client({rpc::Code::kUnavailable, "Connection refused", {}},
                         client::Reach::kUnsent);
      });
    }
    arrived_ = true;
    accept(listener->second);
    if (server_ != nullptr && target_.through_proxy && random_.chance(network_.faults.resent)) {
      if (network_.on_resent) network_.on_resent(host_, target_.method);
      network_.resend(random_.between(0s, network_.faults.resent_max), target_, message);
    }
  }
  if (server_ == nullptr) return;
  server_->post([self = shared_from_this(), message = std::move(message)]() mutable {
    if (const auto call = self->call_.lock()) call->take(std::move(message));
  });
}

void Wire::accept(const Network::Listener& listener) {
  if (client_ == nullptr) return;
  server_ = listener.process;
  const auto call = std::make_shared<ServerCall>(shared_from_this());
  call_ = call;
  server_->post([serve = listener.serve, call] { serve(call); });
}

void Wire::deliver(const rpc::Payload& message, std::function<void()> taken) {
  if (client_ == nullptr) return;
  client_->post([self = shared_from_this(), message, taken = std::move(taken)] {
    if (self->client_ == nullptr) return;
    // The listener may give the call up.
    const auto listener = self->end_.message;
    listener(*message);
    if (!taken || self->server_ == nullptr) return;
    self->server_->post([self, taken] {
      const auto call = self->call_.lock();
      if (call && !call->over()) taken();
    });
  });
}

void Wire::end_client(const rpc::RpcStatus& status, client::Reach reach) {
  if (client_ == nullptr) return;
  client_->post([self = shared_from_this(), status, reach] {
    if (self->client_ == nullptr) return;
    self->client_ = nullptr;
    const auto listener = std::exchange(self->end_, {}).end;
    listener(status, reach);
  });
}

void Wire::end_server() {
  if (server_ == nullptr) return;
  server_->post([self = shared_from_this()] {
    if (const auto call = self->call_.lock()) call->end();
  });
}

void Wire::give_up() {
  up_.waiting.clear();
  down_.waiting.clear();
  end_server();
  end_client({rpc::Code::kUnavailable, "keepalive timeout", {}},
             sent() ? client::Reach::kSent : client::Reach::kUnsent);
}

}  // namespace muster::sim
