#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "client/requests.h"
#include "client/transport.h"
#include "core/client/retry_plan.h"
#include "core/client/server_board.h"

namespace muster::client {

/// Sends requests to servers: chooses a server, follows redirects, retries what may be retried.
///
/// Each call's `done` is called exactly once: with its answer, or with the reason why there is
/// none, soon after its deadline at the latest; with kCancelled if cancelled or if this is
/// destroyed first. With several attempts it also searches an unknown leader. Loop thread only.
class Caller {
 public:
  using CallId = std::uint64_t;
  using Done = std::function<void(Result<std::string>)>;

  Caller(Transport& transport, std::vector<std::string> servers, const RetryConfig& retry,
         Random random);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  CallId start(WireRequest request, MonoTime by, Done done);
  void cancel(CallId id);
  /// Within `done`, after a failure: whether another process has registered the node.
  [[nodiscard]] bool replaced() const { return replaced_; }

  /// Whether any server has ever answered. Any thread.
  [[nodiscard]] bool was_answered() const { return was_answered_; }

  [[nodiscard]] Loop& loop() { return transport_.loop(); }
  [[nodiscard]] ServerBoard& board() { return board_; }
  [[nodiscard]] Random& random() { return random_; }
  /// The connection to a server; kept for the next time, and valid until the next call of this.
  [[nodiscard]] Connection& connection(const std::string& server);

 private:
  struct Pending;

  void attempt(CallId id);
  void answered(CallId id, const RpcStatus& status, std::string body);
  void fail(CallId id, const RpcStatus& status);
  void finish(CallId id, Result<std::string> result, bool replaced = false);
  void learn(const std::string& server, const RpcStatus& status);
  void seek_leader();

  Transport& transport_;
  RetryConfig retry_;
  Random random_;
  ServerBoard board_;
  std::map<std::string, std::unique_ptr<Connection>> connections_;
  std::map<CallId, std::unique_ptr<Pending>> calls_;
  CallId next_id_ = 1;
  std::unique_ptr<Call> search_;  ///< For the leader; one at a time.
  MonoTime next_search_{};
  bool replaced_ = false;
  std::atomic<bool> was_answered_{false};
};

}  // namespace muster::client
