#include "server/rpc/grpc_call.h"

#include <grpc/grpc_security_constants.h>
#include <grpc/support/time.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"

namespace muster::rpc {
namespace {

/// For clients that name no deadline.
constexpr Duration kPatience = 30s;
/// All calls are looked through for answers that nobody takes, and not more often than this.
constexpr Duration kUntakenLook = 1s;

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
  // Handlers begin one read and one write at a time (Call's contract), whatever clients send: gRPC
  // gives an operation back before its handler goes on.
  MUSTER_CHECK(!held);
  held = call.shared_from_this();
  ++call.host_.operations;
  return static_cast<remote::Completion*>(this);
}

void GrpcCall::Operation::forget() {
  --call.host_.operations;
  held.reset();
}

void GrpcCall::Operation::complete(bool ok) {
  const auto alive = std::move(held);
  --call.host_.operations;
  (call.*on)(ok);
}

void CallHost::expect_taken() {
  if (!untaken.armed()) untaken.arm(taken_within, [this] { cut_untaken(); });
}

void CallHost::cut_untaken() {
  const MonoTime now = loop.now();
  std::optional<MonoTime> next;
  std::size_t cut = 0;
  for (GrpcCall* call : calls) {
    if (!call->finishing()) continue;
    const MonoTime by = call->finishing_since() + taken_within;
    if (by > now) {
      next = std::min(by, next.value_or(by));
    } else {
      call->cut();
      ++cut;
    }
  }
  if (cut > 0) log_info("answers were dropped that nobody took", {{"calls", std::to_string(cut)}});
  if (next) untaken.arm(std::max(*next, now + kUntakenLook), [this] { cut_untaken(); });
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
    done_.forget();
    return;
  }
  // The server shuts down and cancels it; nothing may be begun any more.
  if (!host_.on_call) return;
  accept(host_);
  const bool full = host_.calls.size() >= host_.calls_max;
  host_.calls.insert(this);
  peer_ = context_.auth_context();
  if (full) {
    if (host_.call_refused) host_.call_refused();
    return finish(
        {Code::kResourceExhausted, "this server has as many calls open as it takes", {}, 1s});
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

std::string_view GrpcCall::certificate() const {
  if (!peer_) return {};
  const auto shown = peer_->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return shown.empty() ? std::string_view() : std::string_view(shown[0].data(), shown[0].size());
}

std::string GrpcCall::remote() const {
  // "ipv4:127.0.0.1:5000", "ipv6:%5B::1%5D:5000", "unix:…"
  const std::string peer = context_.peer();
  const auto begin = peer.find(':') + 1;
  const auto end = peer.rfind(':');
  return end <= begin ? peer : peer.substr(begin, end - begin);
}

int GrpcCall::connection() {
  if (!connection_) connection_ = host_.connections.find(context_.peer());
  return *connection_;
}

std::string GrpcCall::metadata(const std::string& key) const {
  const auto found = context_.client_metadata().find(key);
  if (found == context_.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
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
  write(message, std::move(done), grpc::WriteOptions());
}

void GrpcCall::write_ahead(Payload message, std::function<void()> done) {
  write(message, std::move(done), grpc::WriteOptions().set_buffer_hint());
}

void GrpcCall::write(const Payload& message, std::function<void()> done,
                     grpc::WriteOptions options) {
  if (over_ || finishing_) return;
  on_written_ = std::move(done);
  host_.connections.writes(connection());
  stream_.Write(to_buffer(message), options, write_.begin());
}

void GrpcCall::written(bool ok) {
  const auto done = std::exchange(on_written_, {});
  // A write that failed is followed by `done`.
  if (ok && !over_ && !finishing_ && done) done();
}

grpc::Status GrpcCall::closing(const RpcStatus& status) {
  finishing_ = true;
  finishing_since_ = host_.loop.now();
  host_.expect_taken();
  if (!status.leader_address.empty()) {
    context_.AddTrailingMetadata(kLeaderKey, status.leader_address);
  }
  if (status.replaced) context_.AddTrailingMetadata(kReplacedKey, "1");
  if (status.retry_after > 0s) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(status.retry_after).count();
    context_.AddTrailingMetadata(kRetryKey, std::to_string(seconds));
  }
  // Whoever sent this must know that a server has spoken, and not the network: UNAVAILABLE means
  // "nothing was changed" from the one and "it may have been" from the other.
  if (!status.ok()) context_.AddTrailingMetadata(kServerKey, host_.server_id);
  return {static_cast<grpc::StatusCode>(status.code), status.message};
}

void GrpcCall::finish(RpcStatus status) {
  if (over_ || finishing_) return;
  const grpc::Status closed = closing(status);
  stream_.Finish(closed, finish_.begin());
  tell_ended(status);
}

void GrpcCall::reply(Payload message) {
  if (over_ || finishing_) return;
  const grpc::Status closed = closing({});
  stream_.WriteAndFinish(to_buffer(message), grpc::WriteOptions(), closed, finish_.begin());
  tell_ended({});
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
  tell_ended({Code::kCancelled, "the client went away", {}});
  tell_gone();
  if (const auto over = std::exchange(on_over_, {})) over();
}

void GrpcCall::cut() {
  if (!over_) context_.TryCancel();
}

void GrpcCall::abort() {
  on_over_ = {};
  on_read_ = {};
  on_written_ = {};
  if (!finishing_) context_.TryCancel();
}

}  // namespace muster::rpc
