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
  /// For the whole call, including all attempts.
  Duration timeout = 10s;
  /// Ends the call early, with kCancelled. A request already sent may still be performed.
  std::stop_token stop{};
};

/// Requests to musterd in three forms: call() waits, async() returns a future, start()
/// calls back on the client's own thread, which must not be blocked. Every call ends by
/// its deadline at the latest. A client has one thread for everything. Threads: any number
/// may use it. Its own thread must not destroy it; calls under way then end with
/// kCancelled.
class Client {
 public:
  virtual ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Not for the client's own thread (a callback), which would wait for itself: kInvalid there.
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

  /// From now on, after a call() that no server has ever answered, checks for up to `limit` beyond
  /// its deadline whether a TLS mistake is the reason, and says which. For programs with a human
  /// user; call it before the first request.
  void explain_tls(Duration limit) { explain_tls_ = limit; }

  /// For other parts of this library.
  [[nodiscard]] Runtime& runtime() { return *runtime_; }

 protected:
  explicit Client(std::unique_ptr<Runtime> runtime);

 private:
  static Error would_wait_for_itself();
  /// The same error, or the explanation of explain_tls().
  Error explained(const Error& error) const;
  void submit(WireRequest request, const CallOptions& options, Caller::Done done);

  std::unique_ptr<Runtime> runtime_;
  Duration explain_tls_{0};
};

/// Plain calls to one server: one attempt, no redirects, no retries.
class CoordinatorClient final : public Client {
 public:
  /// `server` is host:port. Connects with the first call. kInvalid if it is not an address.
  [[nodiscard]] static Result<std::unique_ptr<CoordinatorClient>> connect(std::string server,
                                                                          const TlsFiles& tls = {});

 private:
  using Client::Client;
};

/// Calls to a cluster: finds the leader, continues with another server if one fails, and retries
/// what may be retried. A change with an unknown outcome is reported as kAmbiguous.
class SmartCoordinatorClient final : public Client {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SmartCoordinatorClient>> create(
      std::vector<std::string> servers, const RetryConfig& retry = {}, const TlsFiles& tls = {});

  /// The gRPC address of the leader, as far as a server has named it; otherwise empty.
  [[nodiscard]] std::string leader_hint();

 private:
  using Client::Client;
};

}  // namespace muster::client
