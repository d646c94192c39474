#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "core/client/rpc_status.h"
#include "core/client/server_board.h"

namespace muster::client {

/// How often a call is tried, and the waits in between.
struct RetryConfig {
  int attempts_max = 5;
  Duration first_delay = 100ms;  ///< Doubles after each attempt.
  Duration delay_max = 5s;
  double jitter = 0.25;           ///< A delay differs from its plan by up to this share.
  Duration attempt_timeout = 2s;  ///< Time of one server before another is asked.

  [[nodiscard]] Status validate() const;
};

/// `delay`, longer or shorter by up to `jitter` of it.
[[nodiscard]] Duration jittered(Duration delay, double jitter, Random& random);

/// One call's way through the servers: which server to ask, until when, and after a failure whether
/// and when to retry.
///
/// A request that was never sent, or that a server declined at present, is always retried; one that
/// may have been performed only if it is idempotent. A refusal of the request itself is never
/// retried (T25). Pure: the caller passes the time. Threads: one.
class RetryPlan {
 public:
  RetryPlan(const RetryConfig& config, Effect effect, Aim aim, MonoTime by)
      : config_(config), effect_(effect), aim_(aim), by_(by) {}

  struct Attempt {
    std::string server;
    MonoTime by;
  };
  /// The attempt to make now.
  [[nodiscard]] Attempt next(const ServerBoard& board, MonoTime now);

  /// The attempt ended with `status`, which the board knows already. Returns the time of the next
  /// attempt; nothing if the caller must get the failure.
  [[nodiscard]] std::optional<MonoTime> failed(const RpcStatus& status, const ServerBoard& board,
                                               MonoTime now, Random& random);

  /// The server of the last attempt.
  [[nodiscard]] const std::string& asked_last() const { return asked_.back(); }
  [[nodiscard]] int attempts() const { return static_cast<int>(asked_.size()); }
  /// The attempts so far, for people: their servers and their number. Empty after one.
  [[nodiscard]] std::string tried() const;
  /// An earlier attempt may have performed the request. A retry that finds it done has succeeded.
  [[nodiscard]] bool may_have_happened() const { return may_have_happened_; }

 private:
  RetryConfig config_;
  Effect effect_;
  Aim aim_;
  MonoTime by_;
  std::vector<std::string> asked_;
  bool may_have_happened_ = false;
};

/// Whether a status is final, asks for another server, or leaves the outcome open.
enum class Verdict {
  kFinal,       ///< The request itself was refused.
  kElsewhere,   ///< Nothing was done: this server is unreachable.
  kRedirected,  ///< Nothing was done: the leader is named.
  kLater,       ///< Nothing was done: no server can, at present.
  kOpen,        ///< It may have been done.
};
[[nodiscard]] Verdict judge(const RpcStatus& status);

}  // namespace muster::client
