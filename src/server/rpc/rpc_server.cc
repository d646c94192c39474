#include "server/rpc/rpc_server.h"

#include <utility>

#include "core/net/address.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "rpc/server.h"
#include "server/rpc/health.h"
#include "server/rpc/peer_client.h"
#include "server/rpc/reflection.h"
#include "server/rpc/streams.h"

namespace muster::rpc {
namespace {

std::vector<std::string> with_own(std::vector<std::string> services) {
  services.emplace_back("grpc.health.v1.Health");
  services.emplace_back("grpc.reflection.v1alpha.ServerReflection");
  return services;
}

}  // namespace

class RpcServer::Impl {
 public:
  Impl(EventLoop& loop, RpcServerOptions options, std::function<void(CallPtr)> on_call)
      : loop_(loop),
        options_(std::move(options)),
        services_(with_own(options_.services)),
        on_call_(std::move(on_call)),
        health_(services_) {}

  Result<int> start() {
    const auto address = Address::parse(options_.listen);
    if (!address) return address.error();
    server_.emplace(loop_, server_options(*address), [this](const CallPtr& call) { take(call); });
    const auto port = server_->start();
    if (!port) return {port.error().code, port.error().message + "; see --listen"};
    PeerClient::Options peers{.server_id = options_.id};
    if (options_.tls) {
      peers.tls = options_.tls->connect;
      peers.shaken = options_.tls->verify_server;
    }
    peers_.emplace(loop_, server_->turn(), std::move(peers), system_random());
    return static_cast<int>(*port);
  }

  void set_serving(bool serving) { health_.set_serving(serving); }
  [[nodiscard]] PeerClient& peers() { return *peers_; }
  [[nodiscard]] Server& server() { return *server_; }
  [[nodiscard]] const Server& server() const { return *server_; }
  void close() {
    if (peers_) peers_->close();
    if (server_) server_->close();
  }

 private:
  [[nodiscard]] ServerOptions server_options(const Address& address) const {
    ServerOptions options;
    options.host = address.host;
    options.port = address.port;
    options.id = options_.id;
    options.request_bytes_max = kRequestBytesMax;
    options.calls_max = options_.calls_max;
    options.call_refused = options_.call_refused;
    options.admit = options_.admit;
    options.taken_within = options_.taken_within;
    options.lasts = is_stream;
    options.connections = options_.connections;
    options.anteroom = options_.anteroom;
    options.descriptors_max = options_.descriptors_max;
    options.connection_refused = options_.connection_refused;
    options.cut = options_.cut;
    options.client = options_.client;
    if (options_.tls) {
      options.tls = options_.tls->accept;
      options.connection_age_max = options_.tls->connection_age_max;
    }
    return options;
  }
  void take(const CallPtr& call) {
    if (health_.answers(call) || answer_reflection(call, services_)) return;
    on_call_(call);
  }

  EventLoop& loop_;
  const RpcServerOptions options_;
  const std::vector<std::string> services_;
  const std::function<void(CallPtr)> on_call_;
  Health health_;
  std::optional<Server> server_;
  std::optional<PeerClient> peers_;
};

RpcServer::RpcServer(EventLoop& loop, RpcServerOptions options,
                     std::function<void(CallPtr)> on_call)
    : impl_(std::make_unique<Impl>(loop, std::move(options), std::move(on_call))) {}

RpcServer::~RpcServer() {
  close();
}

Result<int> RpcServer::start() {
  return impl_->start();
}

void RpcServer::set_serving(bool serving) {
  impl_->set_serving(serving);
}

void RpcServer::limit_connections(const ConnectionBudget::Options& limits, int descriptors_max) {
  impl_->server().limit_connections(limits, descriptors_max);
}

std::size_t RpcServer::calls() const {
  return impl_->server().calls();
}

std::size_t RpcServer::connections() const {
  return impl_->server().connections();
}

void RpcServer::call_peer(const std::string& address, const std::string& method,
                          std::string request, Duration timeout,
                          std::function<void(RpcStatus, std::string)> done, Metadata metadata) {
  impl_->peers().call(address, method, std::move(request), timeout, std::move(done),
                      std::move(metadata));
}

void RpcServer::forget_peers() {
  impl_->peers().forget();
}

void RpcServer::drain(Duration limit, std::function<void()> done) {
  impl_->server().drain(limit, std::move(done));
}

void RpcServer::close() {
  impl_->close();
}

}  // namespace muster::rpc
