#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace muster {

enum class CircuitState { kClosed, kOpen, kHalfOpen };

/// "closed", "open", "half-open".
[[nodiscard]] const char* to_string(CircuitState state);

struct CircuitBreakerOptions {
  std::uint32_t failure_threshold = 5;       ///< Failed heartbeats in a row that open it.
  Duration reset_timeout = 30s;              ///< From open to half-open.
  std::uint32_t half_open_max_attempts = 1;  ///< Attempts in half-open before it opens again.
  bool operator==(const CircuitBreakerOptions&) const = default;
};

/// A change of state, for the caller to report. `failure_count` is the count that led to it.
struct CircuitTransition {
  CircuitState from;
  CircuitState to;
  std::uint64_t failure_count;
};

struct CircuitBreakerStatus {
  CircuitState state;
  std::uint64_t failure_count;
  std::uint32_t failure_threshold;
  Duration reset_timeout;
  std::uint64_t trips;
};

/// Reduces requests to a failing store, and never costs a leader its lease.
///
/// Closed: every attempt at a heartbeat is allowed, including quick retries. Those count as
/// one failure per heartbeat interval; otherwise a short outage would open the circuit. Open,
/// after `failure_threshold` failures in a row: no quick retries, one attempt per heartbeat
/// interval. Half-open, after `reset_timeout`: `half_open_max_attempts` attempts are allowed
/// as if it were closed; if all of them fail, it is open again. A success closes it in any
/// state.
///
/// A leader is always allowed to renew. The caller makes one attempt at a time and reports its
/// outcome. The call that causes a change of state returns it, so events and status cannot
/// disagree. Pure. Threads: one.
class CircuitBreaker {
 public:
  struct Permit {
    MonoTime not_before;  ///< In the past or now: allowed.
    std::optional<CircuitTransition> transition;
  };

  /// Requires: both numbers of `options` are positive.
  CircuitBreaker(CircuitBreakerOptions options, Duration heartbeat_interval);

  /// Call before each attempt; an allowed attempt begins at `now`.
  [[nodiscard]] Permit ask(MonoTime now, bool leads);
  [[nodiscard]] std::optional<CircuitTransition> success(MonoTime now);
  [[nodiscard]] std::optional<CircuitTransition> failure(MonoTime now);

  [[nodiscard]] CircuitBreakerStatus status() const;

 private:
  CircuitTransition enter(CircuitState state, MonoTime now);

  CircuitBreakerOptions options_;
  Duration interval_;
  CircuitState state_ = CircuitState::kClosed;
  std::uint64_t failure_count_ = 0;  // In a row.
  std::uint64_t trips_ = 0;
  MonoTime entered_at_{};
  MonoTime attempted_at_{};             // When the last attempt began,
  std::optional<MonoTime> counted_at_;  // and when the last that failed and counts did.
  std::uint32_t half_open_failures_ = 0;
};

}  // namespace muster
