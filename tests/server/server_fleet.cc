#include "tests/server/server_fleet.h"

#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "base/check.h"
#include "platform/system_clock.h"
#include "rpc/call.h"
#include "server/security/access_control.h"
#include "server/web/observer.h"

namespace muster::testing {
namespace {

/// A call from one server to another.
class FleetCall final : public rpc::Call {
 public:
  using Done = std::function<void(rpc::RpcStatus, std::string)>;
  FleetCall(Loop& loop, std::string method, std::string request, Duration timeout, Done done)
      : loop_(loop),
        method_(std::move(method)),
        request_(std::move(request)),
        until_(loop.now() + timeout),
        done_(std::move(done)) {}

  [[nodiscard]] const std::string& method() const override { return method_; }
  [[nodiscard]] Duration time_left() const override { return until_ - loop_.now(); }
  [[nodiscard]] bool forwarded() const override { return true; }
  [[nodiscard]] std::string_view certificate() const override { return {}; }
  [[nodiscard]] std::string remote() const override { return "127.0.0.1"; }
  [[nodiscard]] bool over() const override { return !done_; }
  void read(std::function<void(std::optional<std::string>)> done) override {
    auto request = std::exchange(request_, std::nullopt);
    done(std::move(request));
  }
  void write(rpc::Payload, std::function<void()>) override { MUSTER_CHECK(false); }
  void finish(rpc::RpcStatus status) override { answer(std::move(status), {}); }
  void reply(rpc::Payload message) override { answer({}, *message); }
  void on_over(std::function<void()> over) override { on_over_ = std::move(over); }
  void cut() override { finish({rpc::Code::kCancelled, "cut", {}}); }

 private:
  void answer(rpc::RpcStatus status, std::string message) {
    if (!done_) return;
    loop_.post([done = std::exchange(done_, nullptr), status, message = std::move(message)] {
      done(status, message);
    });
    tell_ended(status);
    tell_gone();
    if (const auto over = std::exchange(on_over_, nullptr)) over();
  }

  Loop& loop_;
  const std::string method_;
  std::optional<std::string> request_;
  const MonoTime until_;
  Done done_;
  std::function<void()> on_over_;
};

}  // namespace

/// One server's way to the others.
class ServerFleet::Link final : public rpc::Peers {
 public:
  explicit Link(ServerFleet& fleet) : fleet_(fleet) {}

  void call_peer(const std::string& address, const std::string& method, std::string request,
                 Duration timeout, std::function<void(rpc::RpcStatus, std::string)> done,
                 rpc::Metadata) override {
    const auto found = fleet_.by_address_.find(address);
    const FleetCall::Done wrapped = lifetime_.wrap(std::move(done));
    if (found == fleet_.by_address_.end()) {
      return fleet_.loop_.post([wrapped] {
        wrapped(rpc::RpcStatus{rpc::Code::kUnavailable, "no such server"}, std::string());
      });
    }
    const auto call =
        std::make_shared<FleetCall>(fleet_.loop_, method, std::move(request), timeout, wrapped);
    fleet_.loop_.post([this, address, call] {
      const auto to = fleet_.by_address_.find(address);
      if (to == fleet_.by_address_.end()) return;
      if (to->second->access->admit(call)) to->second->peer->dispatch(call);
    });
    fleet_.loop_.at(fleet_.loop_.now() + timeout, [call] {
      call->finish({rpc::Code::kUnknown, "the leader did not answer", {}});
    });
  }

 private:
  ServerFleet& fleet_;
  Lifetime lifetime_;
};

ServerFleet::ServerFleet(EventLoop& loop, int servers) : loop_(loop) {
  for (int i = 0; i < servers; ++i) {
    const std::string id = "s" + std::to_string(i + 1);
    const std::string address = id + ".test:9000";
    ServerConfig config;
    config.id = id;
    config.lease_timeout = 2s;
    auto made = std::make_unique<Server>();
    made->engine = std::make_unique<MemoryStore>(loop, objects_);
    made->link = std::make_unique<Link>(*this);
    made->access = std::make_unique<server::AccessControl>(loop, server::AccessControl::Options{});
    made->observer = std::make_unique<server::Observer>(
        loop, made->metrics, server::Observer::Options{id, "memory", config.membership});
    made->peer = std::make_unique<server::ClusterPeer>(
        config, server::ClusterPeer::Surroundings{
                    loop,
                    *made->engine,
                    *made->link,
                    *made->access,
                    address,
                    system_random(),
                    [](const Error& error) { ADD_FAILURE() << error.message; },
                    *made->observer,
                    {},
                    [](const std::string&) -> Result<std::unique_ptr<ObjectStore>> {
                      return {Errc::kUnsupported, "there is one engine in this test"};
                    },
                    [](bool) {}});
    by_address_[address] = made.get();
    servers_.push_back(std::move(made));
    at(i).start();
  }
}

ServerFleet::~ServerFleet() {
  for (int i = 0; i < size(); ++i) crash(i);
}

void ServerFleet::crash(int server) {
  Server& crashed = *servers_[index(server)];
  std::erase_if(by_address_, [&](const auto& each) { return each.second == &crashed; });
  crashed.peer.reset();
  crashed.observer.reset();
  crashed.access.reset();
  crashed.link.reset();
  crashed.engine.reset();
}

}  // namespace muster::testing
