#pragma once

#include <grpcpp/server.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "muster/v1/admin.grpc.pb.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster {

/// What a server does for one kind of call. A test may replace it at any time; calls that have
/// begun go on with the one they began with.
template <typename Signature>
class Script {
 public:
  template <typename F>
  Script& operator=(F script) {
    const std::lock_guard lock(mutex_);
    script_ = std::move(script);
    return *this;
  }
  [[nodiscard]] std::function<Signature> get() const {
    const std::lock_guard lock(mutex_);
    return script_;
  }

 private:
  // Not ours of base/mutex.h: its macros have the names of some in gRPC's headers.
  mutable std::mutex mutex_;
  std::function<Signature> script_;
};

/// A gRPC server on loopback that answers what a test tells it to, for faults that a real musterd
/// cannot be made to show. What a test does not script is UNIMPLEMENTED. Scripts run on gRPC's
/// threads, several at once: declare what they use before the server.
class ScriptedCoordinator : private v1::CoordinatorService::Service,
                            private v1::AdminService::Service {
 public:
  using Context = grpc::ServerContext;
  template <typename Request, typename Response>
  using Unary = Script<grpc::Status(Context&, const Request&, Response&)>;

  Unary<v1::GetTopologyRequest, v1::GetTopologyResponse> get_topology;
  Unary<v1::RegisterNodeRequest, v1::RegisterNodeResponse> register_node;
  Unary<v1::DeregisterNodeRequest, v1::DeregisterNodeResponse> deregister_node;
  Unary<v1::HealthCheckRequest, v1::HealthCheckResponse> health_check;
  Unary<v1::TransferLeadershipRequest, v1::TransferLeadershipResponse> transfer;
  Script<grpc::Status(Context&, const v1::WatchTopologyRequest&,
                      grpc::ServerWriter<v1::TopologyUpdate>&)>
      watch;
  Script<grpc::Status(Context&,
                      grpc::ServerReaderWriter<v1::HeartbeatBatchResponse, v1::HeartbeatBatch>&)>
      heartbeats;
  Script<grpc::Status(Context&, grpc::ServerWriter<v1::BackupChunk>&)> backup;

  /// Listens on a port that it picks, or again on the one it had.
  ScriptedCoordinator() = default;
  ~ScriptedCoordinator() override { stop(); }
  void start();
  /// Cancels what is under way; connections break.
  void stop();
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// "Not me": FAILED_PRECONDITION with the metadata that names the leader.
  static grpc::Status redirect(Context& context, const std::string& leader);
  /// Returns when the client has given the call up, or the server stops.
  static void stay(const Context& context);

 private:
  grpc::Status GetTopology(Context* context, const v1::GetTopologyRequest* request,
                           v1::GetTopologyResponse* response) override;
  grpc::Status RegisterNode(Context* context, const v1::RegisterNodeRequest* request,
                            v1::RegisterNodeResponse* response) override;
  grpc::Status DeregisterNode(Context* context, const v1::DeregisterNodeRequest* request,
                              v1::DeregisterNodeResponse* response) override;
  grpc::Status HealthCheck(Context* context, const v1::HealthCheckRequest* request,
                           v1::HealthCheckResponse* response) override;
  grpc::Status TransferLeadership(Context* context, const v1::TransferLeadershipRequest* request,
                                  v1::TransferLeadershipResponse* response) override;
  grpc::Status WatchTopology(Context* context, const v1::WatchTopologyRequest* request,
                             grpc::ServerWriter<v1::TopologyUpdate>* writer) override;
  grpc::Status HeartbeatStream(
      Context* context,
      grpc::ServerReaderWriter<v1::HeartbeatBatchResponse, v1::HeartbeatBatch>* stream) override;
  grpc::Status Backup(Context* context, const v1::BackupRequest* request,
                      grpc::ServerWriter<v1::BackupChunk>* writer) override;

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace muster
