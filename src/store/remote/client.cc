#include "store/remote/client.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/log.h"
#include "platform/system_clock.h"
#include "store/remote/endpoint.h"

namespace muster::remote {
namespace {

constexpr Duration kFirstBackoff = 50ms;
constexpr Duration kLeastAttempt = 50ms;
/// Servers that were named by others are kept up to this many; beyond it, what is said of more is
/// not followed.
constexpr std::size_t kEndpointsMax = 32;
/// Between two lines about one kind of failure of one server.
constexpr Duration kQuiet = 30s;

rpc::ChannelOptions channel_options(const Endpoint& endpoint,
                                    const std::shared_ptr<rpc::ClientTls>& tls) {
  rpc::ChannelOptions options;
  options.host = endpoint.host;
  options.port = endpoint.port;
  if (tls) options.tls = [tls, name = endpoint.name()] { return tls->to(name); };
  // A server that comes back is noticed soon.
  options.backoff_max = 1s;
  options.connection.ready_within = 2s;
  // A server that hangs is found by pings. Servers, etcd for one, hang up on clients that ping more
  // often than every five seconds, so this stays above it.
  options.connection.ask_after = 6s;
  options.connection.answer_within = 3s;
  // A page of a list may be as long as a message can be.
  options.answer_bytes_max = std::numeric_limits<std::int32_t>::max();
  return options;
}

}  // namespace

Result<std::shared_ptr<rpc::ClientTls>> client_tls(const TlsFiles& files, bool tls12) {
  if (!files.any()) return std::shared_ptr<rpc::ClientTls>();
  return rpc::open_client_tls(files, tls12);
}

/// One call to one server. Nothing of it is heard once it is gone.
struct Client::Attempt {
  std::size_t endpoint;
  std::uint64_t credentials;
  std::optional<std::string> answer{};
  std::unique_ptr<rpc::ClientCall> call{};
};

struct Client::Call {
  Call(Loop& loop, std::string m, rpc::Payload r, Access a, Deadline d,
       Callback<std::string> callback)
      : method(std::move(m)),
        request(std::move(r)),
        access(a),
        by(d),
        done(std::move(callback)),
        deadline(loop),
        pause(loop) {}

  std::string method;
  rpc::Payload request;
  Access access;
  Deadline by;
  Callback<std::string> done;
  Timer deadline;
  Timer pause;  ///< Bounds the attempt, or waits for the next one.
  std::size_t attempts = 0;
  bool reauthenticated = false;
  bool redirected = false;
  std::unique_ptr<Attempt> attempt;
  std::string last_error;

  /// From here on a write belongs to the server that it was sent to, however long that takes.
  [[nodiscard]] bool wrote() const {
    return access == Access::kWrite && attempt && attempt->call->left();
  }
};

Client::Client(ClientOptions options, EventLoop& loop)
    : options_(std::move(options)),
      loop_(loop),
      random_(system_random()),
      turn_(loop),
      told_(LogThrottle::Options{.lines_max = 1, .window = kQuiet}) {
  // with_ports() has parsed every host of an address; a socket's path is always an endpoint.
  for (const std::string& endpoint : options_.endpoints) MUSTER_CHECK(add_channel(endpoint));
}

bool Client::add_channel(const std::string& endpoint) {
  const auto parsed = Endpoint::parse(endpoint);
  if (!parsed) return false;
  channels_.push_back(std::make_unique<rpc::Channel>(
      loop_, turn_, channel_options(*parsed, options_.tls), Random(random_.next())));
  return true;
}

bool Client::ready(const std::string&) {
  return true;
}

bool Client::renew_credentials(std::uint64_t) {
  return false;
}

Client::~Client() {
  for (const Shared& call : calls_) call->attempt = nullptr;
}

void Client::start(std::string method, rpc::Payload request, Access access, Deadline by,
                   Callback<std::string> done) {
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
  if (call->by <= loop_.now()) return;  // The deadline's timer is about to fire.
  call->attempt = std::make_unique<Attempt>(Attempt{current_, credentials_number()});
  ++call->attempts;
  limit_attempt(call);
  // A cancelled attempt gets no more events.
  const std::weak_ptr<Call> weak = call;
  call->attempt->call = channels_[current_]->start(call->method, call->by, metadata(),
                                                   {.message =
                                                        [weak](std::string answer) {
                                                          if (const Shared locked = weak.lock())
                                                            locked->attempt->answer =
                                                                std::move(answer);
                                                        },
                                                    .end =
                                                        [this, weak](const rpc::Outcome& outcome) {
                                                          if (const Shared locked = weak.lock())
                                                            on_end(locked, outcome);
                                                        }});
  call->attempt->call->send(call->request);
  call->attempt->call->finish();
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
    if (!locked || !locked->attempt || locked->wrote()) return;
    locked->last_error = "no answer from " + options_.endpoints[locked->attempt->endpoint];
    leave(locked->attempt->endpoint, {Errc::kUnavailable, "no answer"});
    retry(locked);
  });
}

void Client::on_end(const Shared& call, const rpc::Outcome& outcome) {
  const Attempt& attempt = *call->attempt;
  if (outcome.ok() && attempt.answer) {
    served_ = served_ || attempt.endpoint == current_;
    return complete(call, *std::move(call->attempt->answer));
  }
  static const rpc::Outcome kEmpty{
      rpc::Code::kInternal, "the answer is empty", rpc::Outcome::Word::kNobody, {}};
  Verdict verdict = judge(outcome.ok() ? kEmpty : outcome, call->access);
  if (verdict.reaction == Reaction::kTryAgain) {
    call->last_error = verdict.error.message;
    if (redirect(call, verdict.elsewhere)) return;
    leave(attempt.endpoint, verdict.error);
    return retry(call);
  }
  if (verdict.reaction == Reaction::kReauthenticate && !call->reauthenticated &&
      renew_credentials(attempt.credentials)) {
    call->reauthenticated = true;
    call->attempt = nullptr;
    call->pause.cancel();
    return begin(call);
  }
  if (verdict.error.code == Errc::kAmbiguous) leave(attempt.endpoint, verdict.error);
  complete(call, std::move(verdict.error));
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
    if (!add_channel(endpoint)) return false;
    options_.endpoints.push_back(endpoint);
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

void Client::leave(std::size_t endpoint, const Error& reason) {
  if (endpoint != current_) return;
  if (served_) warn(reason);
  served_ = false;
  current_ = (current_ + 1) % channels_.size();
}

/// A server may serve reads and fail every write, so each of these failures is "the first".
void Client::warn(const Error& reason) {
  const std::string& endpoint = options_.endpoints[current_];
  const LogThrottle::Verdict verdict =
      told_.judge({LogLevel::kWarn, endpoint + " " + to_string(reason.code), {}}, loop_.now());
  if (!verdict.pass) return;
  LogLine::Fields fields{
      {"store", options_.name}, {"endpoint", endpoint}, {"reason", reason.message}};
  if (verdict.left_out > 0) fields.emplace_back("left_out", std::to_string(verdict.left_out));
  log_warn("store server failed", std::move(fields));
}

void Client::expire(const Shared& call) {
  const bool wrote = call->wrote();
  if (call->attempt) {
    leave(call->attempt->endpoint, {Errc::kUnavailable, "no answer by the deadline"});
  }
  if (wrote) {
    return complete(call,
                    Error{Errc::kAmbiguous,
                          options_.name + " did not answer in time; the write may have landed"});
  }
  complete(call, Error{Errc::kUnavailable, call->last_error.empty()
                                               ? options_.name + " did not answer in time"
                                               : call->last_error});
}

void Client::complete(const Shared& call, Result<std::string> result) {
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

std::unique_ptr<rpc::ClientCall> Client::stream(const std::string& method,
                                                rpc::ClientCallEvents events) {
  return channels_[current_]->start(method, std::nullopt, metadata(), std::move(events));
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
