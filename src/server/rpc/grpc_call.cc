#include "server/rpc/grpc_call.h"

#include <grpc/support/time.h>

#include <utility>
#include <vector>

#include "base/check.h"

namespace muster::rpc {
namespace {

/// For clients that name no deadline.
constexpr Duration kPatience = 30s;

}  // namespace

grpc::ByteBuffer to_buffer(const Payload& message) {
  auto* held = new Payload(message);
  const grpc::Slice slice(
      const_cast<char*>((*held)->data()), (*held)->size(),
      [](void* payload) { delete static_cast<Payload*>(payload); }, held);
  return grpc::ByteBuffer(&slice, 1);
}

std::string to_string(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

void* GrpcCall::Operation::begin() {
  MUSTER_CHECK(!held);
  held = call.shared_from_this();
  return static_cast<Completion*>(this);
}

void GrpcCall::Operation::complete(bool ok) {
  const auto alive = std::move(held);
  (call.*on)(ok);
}

GrpcCall::GrpcCall(CallHost& host) : host_(host) {}

void GrpcCall::accept(CallHost& host) {
  const auto call = std::make_shared<GrpcCall>(host);
  call->context_.AsyncNotifyWhenDone(call->done_.begin());
  host.service.RequestCall(&call->context_, &call->stream_, host.queue, host.queue,
                           call->accept_.begin());
}

void GrpcCall::accepted(bool ok) {
  if (!ok) {
    // The server shuts down. gRPC does not tell `done` of a call that never began.
    done_.held.reset();
    return;
  }
  // The server shuts down and cancels it; nothing may be begun any more.
  if (!host_.on_call) return;
  accept(host_);
  const bool full = host_.calls.size() >= host_.calls_max;
  host_.calls.insert(this);
  if (full) {
    return finish({Code::kResourceExhausted, "this server has as many calls open as it takes", {}});
  }
  host_.on_call(shared_from_this());
}

Duration GrpcCall::time_left() const {
  const gpr_timespec deadline = context_.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return kPatience;
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  return std::chrono::milliseconds(gpr_time_to_millis(left));
}

bool GrpcCall::forwarded() const {
  return context_.client_metadata().contains(kForwardedKey);
}

void GrpcCall::read(std::function<void(std::optional<std::string>)> done) {
  if (over_ || finishing_) return;
  on_read_ = std::move(done);
  stream_.Read(&request_, read_.begin());
}

void GrpcCall::has_read(bool ok) {
  const auto done = std::exchange(on_read_, {});
  if (over_ || finishing_ || !done) return;
  done(ok ? std::optional(to_string(request_)) : std::nullopt);
}

void GrpcCall::write(Payload message, std::function<void()> done) {
  if (over_ || finishing_) return;
  on_written_ = std::move(done);
  stream_.Write(to_buffer(message), write_.begin());
}

void GrpcCall::written(bool ok) {
  const auto done = std::exchange(on_written_, {});
  // A write that failed is followed by `done`.
  if (ok && !over_ && !finishing_ && done) done();
}

grpc::Status GrpcCall::closing(const RpcStatus& status) {
  finishing_ = true;
  if (!status.leader_address.empty()) {
    context_.AddTrailingMetadata(kLeaderKey, status.leader_address);
  }
  if (status.replaced) context_.AddTrailingMetadata(kReplacedKey, "1");
  // Whoever sent this must know that a server has spoken, and not the network: UNAVAILABLE means
  // "nothing was changed" from the one and "it may have been" from the other.
  if (!status.ok()) context_.AddTrailingMetadata(kServerKey, host_.server_id);
  return {static_cast<grpc::StatusCode>(status.code), status.message};
}

void GrpcCall::finish(RpcStatus status) {
  if (over_ || finishing_) return;
  const grpc::Status closed = closing(status);
  stream_.Finish(closed, finish_.begin());
}

void GrpcCall::reply(Payload message) {
  if (over_ || finishing_) return;
  const grpc::Status closed = closing({});
  stream_.WriteAndFinish(to_buffer(message), grpc::WriteOptions(), closed, finish_.begin());
}

void GrpcCall::finished(bool) {
  end();
}

void GrpcCall::done(bool) {
  end();
}

void GrpcCall::end() {
  if (std::exchange(over_, true)) return;
  host_.calls.erase(this);
  on_read_ = {};
  on_written_ = {};
  if (const auto over = std::exchange(on_over_, {})) over();
}

void GrpcCall::abort() {
  on_over_ = {};
  on_read_ = {};
  on_written_ = {};
  if (!finishing_) context_.TryCancel();
}

}  // namespace muster::rpc
