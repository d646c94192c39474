#include "tests/support/scripted_coordinator.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <future>

#include "base/check.h"

namespace muster {
namespace {

template <typename Signature, typename... Arguments>
grpc::Status play(const Script<Signature>& current, grpc::ServerContext& context,
                  Arguments&&... arguments) {
  const std::function<Signature> script = current.get();
  if (!script) return {grpc::StatusCode::UNIMPLEMENTED, "the test has no script for this"};
  const grpc::Status status = script(context, std::forward<Arguments>(arguments)...);
  if (!status.ok()) context.AddTrailingMetadata("muster-server", "scripted");
  return status;
}

}  // namespace

void ScriptedCoordinator::start() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port_), grpc::InsecureServerCredentials(),
                           &port_);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(static_cast<v1::CoordinatorService::Service*>(this));
  builder.RegisterService(static_cast<v1::AdminService::Service*>(this));
  server_ = builder.BuildAndStart();
  MUSTER_CHECK(server_ != nullptr && port_ != 0);
}

void ScriptedCoordinator::stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::time_point());
  server_.reset();
}

grpc::Status ScriptedCoordinator::redirect(Context& context, const std::string& leader) {
  context.AddTrailingMetadata("leader-address", leader);
  return {grpc::StatusCode::FAILED_PRECONDITION, "another server leads"};
}

void ScriptedCoordinator::stay(const Context& context) {
  // A handler of this kind is not told of the end; it can only ask.
  std::promise<void> never;
  const std::future<void> pause = never.get_future();
  while (!context.IsCancelled()) pause.wait_for(std::chrono::milliseconds(2));
}

grpc::Status ScriptedCoordinator::GetTopology(Context* context,
                                              const v1::GetTopologyRequest* request,
                                              v1::GetTopologyResponse* response) {
  return play(get_topology, *context, *request, *response);
}

grpc::Status ScriptedCoordinator::RegisterNode(Context* context,
                                               const v1::RegisterNodeRequest* request,
                                               v1::RegisterNodeResponse* response) {
  return play(register_node, *context, *request, *response);
}

grpc::Status ScriptedCoordinator::DeregisterNode(Context* context,
                                                 const v1::DeregisterNodeRequest* request,
                                                 v1::DeregisterNodeResponse* response) {
  return play(deregister_node, *context, *request, *response);
}

grpc::Status ScriptedCoordinator::HealthCheck(Context* context,
                                              const v1::HealthCheckRequest* request,
                                              v1::HealthCheckResponse* response) {
  return play(health_check, *context, *request, *response);
}

grpc::Status ScriptedCoordinator::TransferLeadership(Context* context,
                                                     const v1::TransferLeadershipRequest* request,
                                                     v1::TransferLeadershipResponse* response) {
  return play(transfer, *context, *request, *response);
}

grpc::Status ScriptedCoordinator::WatchTopology(Context* context,
                                                const v1::WatchTopologyRequest* request,
                                                grpc::ServerWriter<v1::TopologyUpdate>* writer) {
  return play(watch, *context, *request, *writer);
}

grpc::Status ScriptedCoordinator::HeartbeatStream(
    Context* context,
    grpc::ServerReaderWriter<v1::HeartbeatBatchResponse, v1::HeartbeatBatch>* stream) {
  return play(heartbeats, *context, *stream);
}

grpc::Status ScriptedCoordinator::Backup(Context* context, const v1::BackupRequest* /*request*/,
                                         grpc::ServerWriter<v1::BackupChunk>* writer) {
  return play(backup, *context, *writer);
}

}  // namespace muster
