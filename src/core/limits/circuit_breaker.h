#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace muster {

enum class CircuitState { kClosed, kOpen, kHalfOpen };

/// "closed", "open", "half-open".
[[nodiscard]] const char* to_string(CircuitState state);

struct CircuitBreakerOptions {
  std::uint32_t failure_threshold = 5;
  Duration reset_timeout = 30s;
  std::uint32_t half_open_max_attempts = 1;
  bool operator==(const CircuitBreakerOptions&) const = default;
};

/// A change of state, for the caller to report. `failure_count` is what had led to it.
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

/// Spares a failing store: after `failure_threshold` failures in a row no attempt is allowed for
/// `reset_timeout`, then a few are tried. One success closes the circuit, one failure opens it
/// for another `reset_timeout`.
///
/// The caller reports the outcome of each attempt that was allowed; an attempt without a deadline
/// would leave the circuit half-open for ever. An outcome that arrives while the circuit is open
/// belongs to an attempt begun before and changes nothing. Every change of state is returned by
/// the call that made it, so events and status cannot disagree. Pure; one thread.
class CircuitBreaker {
 public:
  struct Permit {
    bool allowed;
    std::optional<CircuitTransition> transition;
  };

  /// Both numbers of `options` must be positive.
  explicit CircuitBreaker(CircuitBreakerOptions options = {});

  [[nodiscard]] Permit allow(MonoTime now);
  [[nodiscard]] std::optional<CircuitTransition> success(MonoTime now);
  [[nodiscard]] std::optional<CircuitTransition> failure(MonoTime now);

  [[nodiscard]] CircuitBreakerStatus status() const;

 private:
  CircuitTransition enter(CircuitState state, MonoTime now);

  CircuitBreakerOptions options_;
  CircuitState state_ = CircuitState::kClosed;
  std::uint64_t failure_count_ = 0;  // In a row.
  std::uint64_t trips_ = 0;
  MonoTime entered_at_{};
  std::uint32_t half_open_attempts_ = 0;
};

}  // namespace muster
