#include "server/rpc/rpc_server.h"

#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/codegen/method_handler.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "server/rpc/completion_queue.h"
#include "server/rpc/credentials.h"
#include "server/rpc/grpc_call.h"
#include "server/rpc/peer_client.h"

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

/// The name of a service, for reflection and health. Its methods all go to the generic handler, and
/// gRPC lists a service by the methods registered for it: this registers one that nobody can name.
class NamedService final : public grpc::Service {
 public:
  explicit NamedService(const std::string& name) : path_("/" + name + "/-") {
    AddMethod(new grpc::internal::RpcServiceMethod(
        path_.c_str(), grpc::internal::RpcMethod::NORMAL_RPC,
        new grpc::internal::UnknownMethodHandler("there is no such method")));
  }

 private:
  std::string path_;
};

void add_reflection() {
  // For the whole process, whatever is built afterwards, and to be asked for only once.
  static std::once_flag once;
  std::call_once(once, [] { grpc::reflection::InitProtoReflectionServerBuilderPlugin(); });
}

}  // namespace

class RpcServer::Impl {
 public:
  Impl(Loop& loop, RpcServerOptions options, std::function<void(CallPtr)> on_call)
      : loop_(loop), options_(std::move(options)), drain_timer_(loop) {
    host_.server_id = options_.id;
    host_.calls_max = options_.calls_max;
    host_.on_call = std::move(on_call);
  }
  ~Impl() { close(); }

  Result<int> start() {
    add_reflection();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    int port = 0;
    const Credentials credentials = options_.tls ? tls(*options_.tls) : plaintext();
    if (!credentials.server) {
      return {Errc::kInvalid, "this process has not been made to refuse TLS 1.2"};
    }
    builder.AddListeningPort(options_.listen, credentials.server, &port);
    for (const std::string& name : options_.services) {
      services_.push_back(std::make_unique<NamedService>(name));
      builder.RegisterService(services_.back().get());
    }
    builder.RegisterAsyncGenericService(&host_.service);
    builder.SetMaxReceiveMessageSize(static_cast<int>(kRequestBytesMax));
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
    // Bandwidth probes cost a ping for every few messages and win nothing on small ones.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    // Two servers must not share a port without noticing.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // Clients and servers may ping this often to find a hung connection.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kAskAfterMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kAnswerWithinMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kHeaderBytesMax);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeWithinMs);
    queue_ = builder.AddCompletionQueue();
    host_.queue = queue_.get();
    server_ = builder.BuildAndStart();
    if (!server_ || port == 0) {
      return {Errc::kUnavailable, "cannot listen on " + options_.listen +
                                      "; another program may be using it, choose another --listen"};
    }
    poller_ = std::make_unique<CompletionPoller>(*queue_, loop_);
    peers_ = std::make_unique<PeerClient>(loop_, queue_.get(), options_.id, credentials.channel);
    for (int i = 0; i < kAcceptsAhead; ++i) GrpcCall::accept(host_);
    set_serving(false);
    return port;
  }

  void set_serving(bool serving) {
    if (server_) server_->GetHealthCheckService()->SetServingStatus(serving);
  }

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
    host_.on_call = {};
    if (peers_) peers_->close();
    for (GrpcCall* call : host_.calls) call->abort();
    if (server_) server_->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
    if (poller_) {
      poller_->drain();
    } else if (queue_) {
      queue_->Shutdown();
    }
  }

 private:
  Loop& loop_;
  RpcServerOptions options_;
  CallHost host_;
  std::vector<std::unique_ptr<NamedService>> services_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<PeerClient> peers_;
  std::unique_ptr<CompletionPoller> poller_;
  Timer drain_timer_;
  bool closed_ = false;
};

RpcServer::RpcServer(Loop& loop, RpcServerOptions options, std::function<void(CallPtr)> on_call)
    : impl_(std::make_unique<Impl>(loop, std::move(options), std::move(on_call))) {}

RpcServer::~RpcServer() = default;

Result<int> RpcServer::start() {
  return impl_->start();
}

void RpcServer::set_serving(bool serving) {
  impl_->set_serving(serving);
}

void RpcServer::call_peer(const std::string& address, const std::string& method,
                          std::string request, Duration timeout,
                          std::function<void(RpcStatus, std::string)> done, Metadata metadata) {
  impl_->peers().call(address, method, std::move(request), timeout, std::move(done),
                      std::move(metadata));
}

void RpcServer::drain(Duration limit, std::function<void()> done) {
  impl_->drain(limit, std::move(done));
}

void RpcServer::close() {
  impl_->close();
}

}  // namespace muster::rpc
