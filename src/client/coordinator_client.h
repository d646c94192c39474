#pragma once

#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/requests.h"
#include "client/runtime.h"

namespace muster::client {

template <typename T>
using Callback = std::function<void(Result<T>)>;

struct CallOptions {
  /// From the call to its answer, all attempts together.
  Duration timeout = 10s;
  /// Ends the call early, with kCancelled. What was sent by then may still happen.
  std::stop_token stop{};
};

/// Requests to musterd, in three forms: call() waits, async() gives a future, start() calls back
/// on the client's own thread, which must not be kept waiting. Every call ends, by its deadline
/// at the latest. A client has one thread for everything. It may be used by any number of
/// threads, and is destroyed by one of them that is not its own; what is still under way then ends
/// with kCancelled.
class Client {
 public:
  virtual ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Not on the client's own thread (from a callback): it would wait for itself. kInvalid there.
  template <typename Request>
  Result<typename Request::Answer> call(const Request& request, const CallOptions& options = {}) {
    if (runtime_->on_thread()) return would_wait_for_itself();
    auto answer = async(request, options).get();
    if (!answer) return explained(answer.error());
    return answer;
  }

  template <typename Request>
  std::future<Result<typename Request::Answer>> async(const Request& request,
                                                      const CallOptions& options = {}) {
    using Answer = Result<typename Request::Answer>;
    auto promise = std::make_shared<std::promise<Answer>>();
    auto future = promise->get_future();
    start(
        request, [promise](Answer answer) { promise->set_value(std::move(answer)); }, options);
    return future;
  }

  template <typename Request>
  void start(const Request& request, Callback<typename Request::Answer> done,
             const CallOptions& options = {}) {
    submit(encode(request), options, [done = std::move(done)](Result<std::string> body) {
      if (!body) return done(body.error());
      done(decode<Request>(*body));
    });
  }

  Result<TopologyImage> get_topology(bool linearizable = false, const CallOptions& options = {});
  Result<Registration> register_node(const NodeSpec& node, const CallOptions& options = {});
  Result<TopologyVersion> deregister_node(const NodeId& id, const Generation& generation,
                                          const CallOptions& options = {});
  Result<HeartbeatAnswer> heartbeat(const Heartbeat& heartbeat, const CallOptions& options = {});
  Result<Health> health_check(const CallOptions& options = {});

  /// From now on a call() that no server has ever answered looks afterwards, for up to `limit`
  /// beyond its deadline, whether a mistake with TLS is the reason, and says which. For programs
  /// that people talk to; before the first call.
  void explain_tls(Duration limit) { explain_tls_ = limit; }

  /// For the other parts of this library.
  [[nodiscard]] Runtime& runtime() { return *runtime_; }

 protected:
  explicit Client(std::unique_ptr<Runtime> runtime);

 private:
  static Error would_wait_for_itself();
  /// The same, or what explain_tls() asks for.
  Error explained(const Error& error) const;
  void submit(WireRequest request, const CallOptions& options, Caller::Done done);

  std::unique_ptr<Runtime> runtime_;
  Duration explain_tls_{0};
};

/// Plain calls to one server: one attempt, no redirects, no guesses.
class CoordinatorClient final : public Client {
 public:
  /// `server` is host:port. Connects with the first call. kInvalid when it is no address.
  [[nodiscard]] static Result<std::unique_ptr<CoordinatorClient>> connect(std::string server,
                                                                          const TlsFiles& tls = {});

 private:
  using Client::Client;
};

/// Calls to a cluster: finds the leader, goes on with another server when one fails, and tries
/// again what may be tried again. A change whose outcome stays unknown is reported as kAmbiguous.
class SmartCoordinatorClient final : public Client {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SmartCoordinatorClient>> create(
      std::vector<std::string> servers, const RetryConfig& retry = {}, const TlsFiles& tls = {});

  /// The gRPC address of who leads, as far as somebody said so; empty otherwise.
  [[nodiscard]] std::string leader_hint();

 private:
  using Client::Client;
};

}  // namespace muster::client
