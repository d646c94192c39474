#include "server/rpc/peer_client.h"

#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "server/rpc/grpc_call.h"
#include "server/rpc/rpc_server.h"

namespace muster::rpc {
namespace {

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // A leader that hangs is found by pings; it permits them this often.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  return arguments;
}

}  // namespace

/// gRPC writes to it from its own thread while an operation is under way, which keeps it alive.
struct PeerClient::PeerCall final : remote::Completion {
  explicit PeerCall(std::size_t& o) : operations(o) {}
  std::size_t& operations;
  PeerClient* client = nullptr;  ///< Null once nobody waits for it.
  std::shared_ptr<grpc::Channel> channel;
  std::string method;
  grpc::ByteBuffer request;
  MonoTime by;
  Done done;
  Metadata metadata;
  bool sent = false;
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  grpc::Status status;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  Shared held;

  void* begin(const Shared& self) {
    held = self;
    ++operations;
    return static_cast<remote::Completion*>(this);
  }
  void complete(bool) override {
    const Shared self = std::move(held);
    --operations;
    if (client == nullptr) return;
    if (sent) return client->answered(self);
    client->proceed(self);
  }
};

PeerClient::PeerClient(Loop& loop, grpc::CompletionQueue* queue, std::string server_id,
                       std::shared_ptr<grpc::ChannelCredentials> credentials)
    : loop_(loop),
      queue_(queue),
      server_id_(std::move(server_id)),
      credentials_(std::move(credentials)) {}

void PeerClient::close() {
  closed_ = true;
  lifetime_.renew();
  for (const Shared& call : calls_) {
    call->client = nullptr;
    if (call->sent) call->context.TryCancel();
    // A wait for a connection ends with the channel, and not before.
    call->channel.reset();
  }
  calls_.clear();
  channels_.clear();
}

void PeerClient::call(const std::string& address, const std::string& method, std::string request,
                      Duration timeout, Done done, Metadata metadata) {
  if (closed_) return;
  auto& channel = channels_[address];
  if (!channel) {
    channel = grpc::CreateCustomChannel(address, credentials_, channel_arguments());
  }
  auto call = std::make_shared<PeerCall>(operations_);
  call->client = this;
  call->channel = channel;
  call->method = method;
  call->request = to_buffer(payload(std::move(request)));
  call->by = loop_.now() + timeout;
  call->done = std::move(done);
  call->metadata = std::move(metadata);
  calls_.insert(call);
  proceed(call);
}

void PeerClient::proceed(const Shared& call) {
  const Duration left = call->by - loop_.now();
  const grpc_connectivity_state state = call->channel->GetState(true);
  if (state == GRPC_CHANNEL_READY && left > 0s) return connected(call);
  if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN || left <= 0s) {
    return complete(call, {Code::kUnavailable, "the leader cannot be reached", {}}, {});
  }
  call->channel->NotifyOnStateChange(
      state,
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left.count(), GPR_TIMESPAN)),
      queue_, call->begin(call));
}

void PeerClient::connected(const Shared& call) {
  call->sent = true;
  const Duration left = call->by - loop_.now();
  call->context.set_deadline(gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
  call->context.AddMetadata(kForwardedKey, server_id_);
  for (const auto& [key, value] : call->metadata) call->context.AddMetadata(key, value);
  grpc::GenericStub stub(call->channel);
  call->reader = stub.PrepareUnaryCall(&call->context, call->method, call->request, queue_);
  call->reader->StartCall();
  call->reader->Finish(&call->response, &call->status, call->begin(call));
}

void PeerClient::answered(const Shared& call) {
  const auto& trailing = call->context.GetServerTrailingMetadata();
  if (call->status.ok()) return complete(call, {}, to_string(call->response));
  if (!trailing.contains(kServerKey)) {
    // The network spoke, not the server: what was sent may have been done.
    return complete(
        call, {Code::kUnknown, "the leader did not answer: " + call->status.error_message(), {}},
        {});
  }
  RpcStatus status{static_cast<Code>(call->status.error_code()), call->status.error_message(), {}};
  if (const auto found = trailing.find(kLeaderKey); found != trailing.end()) {
    status.leader_address = std::string(found->second.data(), found->second.size());
  }
  if (const auto found = trailing.find(kRetryKey); found != trailing.end()) {
    const auto seconds = parse_unsigned({found->second.data(), found->second.size()});
    if (seconds) status.retry_after = std::chrono::seconds(std::min<std::uint64_t>(*seconds, 3600));
  }
  status.replaced = trailing.contains(kReplacedKey);
  complete(call, std::move(status), {});
}

void PeerClient::complete(const Shared& call, RpcStatus status, std::string answer) {
  call->client = nullptr;
  calls_.erase(call);
  const Done done = std::move(call->done);
  // Not from within call(): its caller has not returned yet.
  loop_.post(
      lifetime_.wrap([done, status = std::move(status), answer = std::move(answer)]() mutable {
        done(std::move(status), std::move(answer));
      }));
}

}  // namespace muster::rpc
