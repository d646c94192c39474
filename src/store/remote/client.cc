#include "store/remote/client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <optional>

#include "base/log.h"

namespace muster::remote {
namespace {

constexpr Duration kFirstBackoff = 50ms;
constexpr Duration kLeastAttempt = 50ms;
/// Servers that were named by others are kept up to this many; beyond it, what is said of more is
/// not followed.
constexpr std::size_t kEndpointsMax = 32;

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  // Nothing is sent twice unless we say so.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Connections of this store only, so that they end with it.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A peer that hangs is found by pings. Servers, etcd for one, hang up on clients that ping more
  // often than every five seconds, so this stays above it.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 6000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 3000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A server that comes back is noticed soon; the floor is also the time a connect may take.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Bandwidth probes cost a ping for every few messages and win nothing on small ones.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return arguments;
}

}  // namespace

/// One stream to one server. gRPC writes to it from its own thread until the tags are done, so
/// each tag holds it.
struct Client::Attempt {
  Attempt(std::size_t server, std::uint64_t number) : endpoint(server), credentials(number) {}
  std::size_t endpoint;
  std::uint64_t credentials;
  bool sent = false;
  bool answered = false;
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  grpc::Status status;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
};

struct Client::Call {
  Call(Loop& loop, std::string m, grpc::ByteBuffer r, Access a, Deadline d,
       Callback<grpc::ByteBuffer> callback)
      : method(std::move(m)),
        request(std::move(r)),
        access(a),
        by(d),
        done(std::move(callback)),
        deadline(loop),
        pause(loop) {}

  std::string method;
  grpc::ByteBuffer request;
  Access access;
  Deadline by;
  Callback<grpc::ByteBuffer> done;
  Timer deadline;
  Timer pause;  ///< Bounds the attempt, or waits for the next one.
  std::size_t attempts = 0;
  bool reauthenticated = false;
  bool redirected = false;
  std::shared_ptr<Attempt> attempt;
  std::string last_error;

  [[nodiscard]] Stage stage() const {
    if (!attempt || !attempt->sent) return Stage::kUnsent;
    return access == Access::kWrite ? Stage::kWriteSent : Stage::kReadSent;
  }
};

Client::Client(ClientOptions options, Loop& loop)
    : options_(std::move(options)),
      loop_(loop),
      completions_(Completions::make(loop, options_.loop_queue)) {
  for (const std::string& endpoint : options_.endpoints) add_channel(endpoint);
}

void Client::add_channel(const std::string& endpoint) {
  const std::string target = endpoint.starts_with("unix:") ? endpoint : "dns:///" + endpoint;
  channels_.push_back(grpc::CreateCustomChannel(target, options_.credentials, channel_arguments()));
}

bool Client::ready(const std::string&) {
  return true;
}

bool Client::renew_credentials(std::uint64_t) {
  return false;
}

Client::~Client() {
  lifetime_.renew();
  for (const Shared& call : calls_) {
    call->deadline.cancel();
    call->pause.cancel();
    if (call->attempt) call->attempt->context.TryCancel();
    call->attempt = nullptr;
  }
}

void Client::start(std::string method, grpc::ByteBuffer request, Access access, Deadline by,
                   Callback<grpc::ByteBuffer> done) {
  auto call = std::make_shared<Call>(loop_, std::move(method), std::move(request), access, by,
                                     std::move(done));
  calls_.insert(call);
  call->deadline.arm(by, [this, weak = std::weak_ptr(call)] {
    if (const Shared locked = weak.lock()) expire(locked);
  });
  begin(call);
}

void Client::begin(const Shared& call) {
  const bool held = call->access != Access::kReadAhead && holds_ > 0;
  if (held || !ready(call->method)) return waiting_.push_back(call);
  attempt(call);
}

void Client::attempt(const Shared& call) {
  const Duration left = call->by - loop_.now();
  if (left <= Duration::zero()) return;  // The deadline's timer is about to fire.
  auto attempt = std::make_shared<Attempt>(current_, credentials_number());
  attempt->context.set_deadline(gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
  prepare(attempt->context);
  grpc::GenericStub stub(channels_[current_]);
  attempt->stream = stub.PrepareCall(&attempt->context, call->method, queue());
  call->attempt = attempt;
  ++call->attempts;
  limit_attempt(call);
  attempt->stream->StartCall(
      tag(lifetime_.wrap([this, call, attempt](bool ok) { on_open(call, attempt, ok); })));
}

void Client::limit_attempt(const Shared& call) {
  if (channels_.size() < 2) return;
  // Longer in each round, so that a cluster that is merely slow is waited for in the end, and
  // never so long that no time is left for another server.
  const auto round = std::min<std::size_t>((call->attempts - 1) / channels_.size(), 4);
  const Duration left = call->by - loop_.now();
  const Duration limit =
      std::min(options_.attempt_timeout * (1 << round), std::max(left / 2, kLeastAttempt));
  call->pause.arm(limit, [this, weak = std::weak_ptr(call)] {
    const Shared locked = weak.lock();
    if (!locked || !locked->attempt) return;
    locked->last_error = "no answer from " + options_.endpoints[locked->attempt->endpoint];
    leave(locked->attempt->endpoint, "no answer");
    locked->attempt->context.TryCancel();
    retry(locked);
  });
}

void Client::on_open(const Shared& call, const std::shared_ptr<Attempt>& attempt, bool ok) {
  if (call->attempt != attempt) return;
  const auto finish = [this, call, attempt] {
    attempt->stream->Finish(
        &attempt->status,
        tag(lifetime_.wrap([this, call, attempt](bool) { on_finish(call, attempt); })));
  };
  if (!ok) return finish();
  attempt->sent = true;
  // From here on a write belongs to this server, however long it takes.
  if (call->access == Access::kWrite) call->pause.cancel();
  attempt->stream->WriteLast(call->request, grpc::WriteOptions(), tag([attempt](bool) {}));
  attempt->stream->Read(&attempt->response, tag(lifetime_.wrap([call, attempt, finish](bool read) {
    attempt->answered = read;
    if (call->attempt == attempt) finish();
  })));
}

void Client::on_finish(const Shared& call, const std::shared_ptr<Attempt>& attempt) {
  if (call->attempt != attempt) return;
  if (attempt->status.ok() && attempt->answered) {
    served_ = served_ || attempt->endpoint == current_;
    return complete(call, std::move(attempt->response));
  }
  Outcome outcome = judge(attempt->status, attempt->context, call->stage());
  if (outcome.reaction == Reaction::kTryAgain) {
    call->last_error = outcome.error.message;
    if (redirect(call, outcome.elsewhere)) return;
    leave(attempt->endpoint, outcome.error.message);
    return retry(call);
  }
  if (outcome.reaction == Reaction::kReauthenticate && !call->reauthenticated &&
      renew_credentials(attempt->credentials)) {
    call->reauthenticated = true;
    call->attempt = nullptr;
    call->pause.cancel();
    return begin(call);
  }
  if (outcome.error.code == Errc::kAmbiguous) leave(attempt->endpoint, outcome.error.message);
  complete(call, std::move(outcome.error));
}

/// Follows the word of one server about another, once for each call: two servers that name each
/// other must not keep it running between them.
bool Client::redirect(const Shared& call, const std::string& endpoint) {
  if (endpoint.empty() || std::exchange(call->redirected, true)) return false;
  const auto known = std::find(options_.endpoints.begin(), options_.endpoints.end(), endpoint);
  const auto index = static_cast<std::size_t>(known - options_.endpoints.begin());
  if (index == call->attempt->endpoint) return false;
  if (known == options_.endpoints.end()) {
    if (options_.endpoints.size() == kEndpointsMax) return false;
    options_.endpoints.push_back(endpoint);
    add_channel(endpoint);
  }
  current_ = index;
  served_ = false;
  call->attempt = nullptr;
  call->pause.cancel();
  begin(call);
  return true;
}

void Client::retry(const Shared& call) {
  call->attempt = nullptr;
  const std::size_t round = call->attempts / channels_.size();
  if (call->attempts % channels_.size() != 0) {
    call->pause.cancel();
    return begin(call);
  }
  // Every server has been asked once more; a moment's rest spares them and us.
  const Duration delay = kFirstBackoff * (1 << std::min<std::size_t>(round, 4));
  call->pause.arm(delay, [this, weak = std::weak_ptr(call)] {
    if (const Shared locked = weak.lock()) begin(locked);
  });
}

void Client::leave(std::size_t endpoint, const std::string& reason) {
  if (endpoint != current_) return;
  if (served_) {
    log_warn(
        "store server failed",
        {{"store", options_.name}, {"endpoint", options_.endpoints[endpoint]}, {"reason", reason}});
  }
  served_ = false;
  current_ = (current_ + 1) % channels_.size();
}

void Client::expire(const Shared& call) {
  const Stage stage = call->stage();
  if (call->attempt) {
    leave(call->attempt->endpoint, "no answer by the deadline");
    call->attempt->context.TryCancel();
  }
  if (stage == Stage::kWriteSent) {
    return complete(call,
                    Error{Errc::kAmbiguous,
                          options_.name + " did not answer in time; the write may have landed"});
  }
  complete(call, Error{Errc::kUnavailable, call->last_error.empty()
                                               ? options_.name + " did not answer in time"
                                               : call->last_error});
}

void Client::complete(const Shared& call, Result<grpc::ByteBuffer> result) {
  call->attempt = nullptr;
  call->deadline.cancel();
  call->pause.cancel();
  std::erase(waiting_, call);
  calls_.erase(call);
  // Posted and not called: the callback may destroy this client.
  loop_.post(lifetime_.wrap([done = std::move(call->done), result = std::move(result)]() mutable {
    done(std::move(result));
  }));
}

void Client::hold() {
  ++holds_;
}

void Client::release() {
  if (--holds_ == 0) resume_waiting();
}

void Client::resume_waiting() {
  for (const Shared& call : std::exchange(waiting_, {})) begin(call);
}

void Client::fail_waiting(const Error& error) {
  for (const Shared& call : std::exchange(waiting_, {})) complete(call, error);
}

}  // namespace muster::remote
