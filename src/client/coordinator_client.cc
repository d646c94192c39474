#include "client/coordinator_client.h"

#include <optional>

#include "base/check.h"

namespace muster::client {
namespace {

/// A call that a stop token can end. Touched on the loop, but for the token's callback.
struct Stoppable {
  Caller::CallId id = 0;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
};

}  // namespace

Client::Client(std::unique_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}

Client::~Client() {
  // A mistake in the program that uses the library, and no server's doing: the client's own thread
  // would wait for itself.
  MUSTER_CHECK(!runtime_->on_thread());
}

Error Client::would_wait_for_itself() {
  return {Errc::kInvalid,
          "a waiting call from a callback of the same client would wait for itself; use start()"};
}

Error Client::explained(const Error& error) const {
  if (explain_tls_ == Duration(0)) return error;
  if (error.code != Errc::kUnavailable && error.code != Errc::kAmbiguous) return error;
  if (runtime_->caller().was_answered()) return error;
  const auto why = runtime_->diagnose_tls(explain_tls_);
  if (!why) return error;
  // A request may have been sent before a server refused the certificate, and then was not read.
  // Only the server knows, so the code stays.
  return {error.code,
          *why + (error.code == Errc::kAmbiguous ? "; the change may have happened" : "")};
}

void Client::submit(WireRequest request, const CallOptions& options, Caller::Done done) {
  const MonoTime by = runtime_->loop().now() + options.timeout;
  runtime_->loop().post([this, by, stop = options.stop, request = std::move(request),
                         done = std::move(done)]() mutable {
    Caller& caller = runtime_->caller();
    auto stoppable = std::make_shared<Stoppable>();
    stoppable->id = caller.start(std::move(request), by,
                                 [stoppable, done = std::move(done)](Result<std::string> body) {
                                   stoppable->on_stop.reset();
                                   done(std::move(body));
                                 });
    if (!stop.stop_possible()) return;
    const Caller::CallId id = stoppable->id;
    // Posted: a token that is stopped already calls back from within this constructor.
    stoppable->on_stop.emplace(
        stop, [this, id] { runtime_->loop().post([this, id] { runtime_->caller().cancel(id); }); });
  });
}

Result<TopologyImage> Client::get_topology(bool linearizable, const CallOptions& options) {
  return call(GetTopology{linearizable}, options);
}

Result<Registration> Client::register_node(const NodeSpec& node, const CallOptions& options) {
  return call(RegisterNode{node}, options);
}

Result<TopologyVersion> Client::deregister_node(const NodeId& id, const Generation& generation,
                                                const CallOptions& options) {
  return call(DeregisterNode{id, generation}, options);
}

Result<HeartbeatAnswer> Client::heartbeat(const Heartbeat& heartbeat, const CallOptions& options) {
  return call(heartbeat, options);
}

Result<Health> Client::health_check(const CallOptions& options) {
  return call(HealthCheck{}, options);
}

Result<std::unique_ptr<CoordinatorClient>> CoordinatorClient::connect(std::string server,
                                                                      const TlsFiles& tls) {
  RetryConfig once;
  once.attempts_max = 1;
  auto runtime = Runtime::open({std::move(server)}, once, tls);
  if (!runtime) return runtime.error();
  return std::unique_ptr<CoordinatorClient>(new CoordinatorClient(std::move(*runtime)));
}

Result<std::unique_ptr<SmartCoordinatorClient>> SmartCoordinatorClient::create(
    std::vector<std::string> servers, const RetryConfig& retry, const TlsFiles& tls) {
  auto runtime = Runtime::open(std::move(servers), retry, tls);
  if (!runtime) return runtime.error();
  return std::unique_ptr<SmartCoordinatorClient>(new SmartCoordinatorClient(std::move(*runtime)));
}

std::string SmartCoordinatorClient::leader_hint() {
  std::string leader;
  runtime().run([&] { leader = runtime().caller().board().leader().value_or(""); });
  return leader;
}

}  // namespace muster::client
