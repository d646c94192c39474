#include "server/rpc/rpc_server.h"

// Before gRPC's headers, which define the annotations of base/mutex.h once more.
#include "platform/event_loop.h"
#include "platform/listener.h"
#include "server/rpc/loop_queue.h"

#include <absl/synchronization/mutex.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "server/config_address.h"
#include "server/rpc/credentials.h"
#include "server/rpc/grpc_call.h"
#include "server/rpc/health.h"
#include "server/rpc/peer_client.h"
#include "server/rpc/reflection.h"

namespace muster::rpc {
namespace {

/// Calls that may arrive in one moment without waiting for the loop.
constexpr int kAcceptsAhead = 64;

/// Of one connection. Further ones wait in the client.
constexpr int kStreamsMax = 10'000;
/// A connection that is silent for so long is asked, and given up when it does not answer: the
/// calls of a client that was cut off would otherwise stay until the kernel gives up.
constexpr int kAskAfterMs = 30'000;
constexpr int kAnswerWithinMs = 10'000;
/// All headers of one call together. Ours are a few dozen bytes.
constexpr int kHeaderBytesMax = 8'192;
/// A connection that has not shown who it is by then is closed.
constexpr int kHandshakeWithinMs = 10'000;

/// How often it is looked whether all answers have left.
constexpr Duration kDrainLook = 5ms;

}  // namespace

void log_what_grpc_says() {
  gpr_set_log_function([](gpr_log_func_args* said) {
    // Most of its errors are a client's mistake: a handshake that failed, a connection that broke.
    const LogLevel level =
        said->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kInfo : LogLevel::kDebug;
    log({level, "gRPC says", {{"text", said->message}}});
  });
}

class RpcServer::Impl {
 public:
  Impl(EventLoop& loop, RpcServerOptions options, std::function<void(CallPtr)> on_call)
      : loop_(loop),
        options_(std::move(options)),
        services_(with_own(options_.services)),
        host_(loop, Connections(loop,
                                [this](std::function<void()> task) {
                                  queue_->before_sleep(std::move(task));
                                })),
        health_(services_),
        drain_timer_(loop) {
    host_.server_id = options_.id;
    host_.calls_max = options_.calls_max;
    host_.call_refused = options_.call_refused;
    host_.taken_within = options_.taken_within;
    host_.on_call = [this, on_call = std::move(on_call)](const CallPtr& call) {
      if (options_.admit && !options_.admit(call)) return;
      if (health_.answers(call) || answer_reflection(call, services_)) return;
      on_call(call);
    };
  }
  ~Impl() { close(); }

  Result<int> start() {
    // Debian builds the library with a search for deadlocks in every lock that gRPC takes: a tenth
    // of the time of a small call.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    // gRPC's own has threads of its own, see Health.
    grpc::EnableDefaultHealthCheckService(false);
    grpc::ServerBuilder builder;
    const Credentials credentials = options_.tls ? tls(*options_.tls) : plaintext();
    if (!credentials.server) {
      return {Errc::kInvalid, "this process has not been made to refuse TLS 1.2"};
    }
    // gRPC's own listener knows no limit, and goes deaf for ever once descriptors have run out.
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        credentials.server);
    builder.RegisterAsyncGenericService(&host_.service);
    builder.SetMaxReceiveMessageSize(static_cast<int>(kRequestBytesMax));
    // Bandwidth probes cost a ping for every few messages and win nothing on small ones.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    // Clients and servers may ping this often to find a hung connection.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kAskAfterMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kAnswerWithinMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kHeaderBytesMax);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeWithinMs);
    if (options_.tls) {
      builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                                 static_cast<int>(to_ms(options_.tls->connection_age_max)));
    }
    auto queue = builder.AddCompletionQueue();
    host_.queue = queue.get();
    server_ = builder.BuildAndStart();
    const auto port = server_ ? listen() : Result<int>(Errc::kUnavailable, "gRPC does not start");
    if (!port) {
      if (server_) server_->Shutdown();
      server_.reset();
      queue->Shutdown();
      return port;
    }
    queue_ = std::make_unique<remote::LoopQueue>(loop_, std::move(queue));
    peers_ = std::make_unique<PeerClient>(loop_, queue_->queue(), options_.id, credentials.channel);
    for (int i = 0; i < kAcceptsAhead; ++i) GrpcCall::accept(host_);
    return port;
  }
  void set_descriptors_max(int most) {
    options_.descriptors_max = most;
    if (listener_) listener_->set_descriptors_max(most);
  }

  void set_serving(bool serving) { health_.set_serving(serving); }
  [[nodiscard]] std::size_t calls() const { return host_.calls.size(); }
  [[nodiscard]] std::size_t connections() const { return host_.connections.open(); }
  [[nodiscard]] remote::LoopQueue* queue() { return queue_.get(); }

  void drain(Duration limit, std::function<void()> done) {
    drain(loop_.now() + limit, std::move(done));
  }

  [[nodiscard]] PeerClient& peers() { return *peers_; }

  void drain(MonoTime by, std::function<void()> done) {
    const auto leaving = [](const GrpcCall* call) { return call->finishing(); };
    if (loop_.now() >= by || std::none_of(host_.calls.begin(), host_.calls.end(), leaving)) {
      return done();
    }
    drain_timer_.arm(kDrainLook, [this, by, done = std::move(done)] { drain(by, done); });
  }

  void close() {
    if (std::exchange(closed_, true)) return;
    drain_timer_.cancel();
    host_.untaken.cancel();
    host_.on_call = {};
    listener_.reset();
    if (peers_) peers_->close();
    for (GrpcCall* call : host_.calls) call->abort();
    if (!server_) return;
    server_->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
    if (queue_) queue_->work_until([this] { return host_.operations == 0 && peers_->ended(); });
  }

 private:
  Result<int> listen() {
    const auto address = Address::parse(options_.listen);
    if (!address) return address.error();
    listener_ =
        std::make_unique<Listener>(loop_,
                                   ListenerOptions{.host = address->host,
                                                   .port = address->port,
                                                   .descriptors_max = options_.descriptors_max,
                                                   .refused = options_.connection_refused},
                                   [this](UniqueFd fd) { hand_over(std::move(fd)); });
    const auto port = listener_->start();
    if (port) return static_cast<int>(*port);
    listener_.reset();
    return {port.error().code, port.error().message + "; see --listen"};
  }
  void hand_over(UniqueFd fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    host_.connections.accepted(fd.get());
    connection.fd = fd.release();
    acceptor_->HandleNewConnection(&connection);
  }

  static std::vector<std::string> with_own(std::vector<std::string> services) {
    services.emplace_back("grpc.health.v1.Health");
    services.emplace_back("grpc.reflection.v1alpha.ServerReflection");
    return services;
  }

  EventLoop& loop_;
  RpcServerOptions options_;
  std::vector<std::string> services_;
  CallHost host_;
  std::unique_ptr<remote::LoopQueue> queue_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<PeerClient> peers_;
  Health health_;
  Timer drain_timer_;
  bool closed_ = false;
};

RpcServer::RpcServer(EventLoop& loop, RpcServerOptions options,
                     std::function<void(CallPtr)> on_call)
    : impl_(std::make_unique<Impl>(loop, std::move(options), std::move(on_call))) {}

RpcServer::~RpcServer() = default;

Result<int> RpcServer::start() {
  return impl_->start();
}

void RpcServer::set_serving(bool serving) {
  impl_->set_serving(serving);
}

void RpcServer::set_descriptors_max(int most) {
  impl_->set_descriptors_max(most);
}

std::size_t RpcServer::calls() const {
  return impl_->calls();
}

std::size_t RpcServer::connections() const {
  return impl_->connections();
}

remote::LoopQueue* RpcServer::queue() {
  return impl_->queue();
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
  impl_->drain(limit, std::move(done));
}

void RpcServer::close() {
  impl_->close();
}

}  // namespace muster::rpc
