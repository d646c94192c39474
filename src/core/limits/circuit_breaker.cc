#include "core/limits/circuit_breaker.h"

#include <utility>

#include "base/check.h"

namespace muster {

const char* to_string(CircuitState state) {
  switch (state) {
    case CircuitState::kClosed:
      return "closed";
    case CircuitState::kOpen:
      return "open";
    case CircuitState::kHalfOpen:
      return "half-open";
  }
  return "unknown";
}

CircuitBreaker::CircuitBreaker(CircuitBreakerOptions options) : options_(options) {
  MUSTER_CHECK(options.failure_threshold > 0);
  MUSTER_CHECK(options.half_open_max_attempts > 0);
}

CircuitBreaker::Permit CircuitBreaker::allow(MonoTime now) {
  Permit permit{true, std::nullopt};
  if (state_ == CircuitState::kClosed) return permit;
  if (state_ == CircuitState::kOpen) {
    if (now - entered_at_ < options_.reset_timeout) return {false, std::nullopt};
    permit.transition = enter(CircuitState::kHalfOpen, now);
    half_open_attempts_ = 0;
  }
  // Any outcome leaves half-open, so the attempts granted since it began are all in flight.
  permit.allowed = half_open_attempts_ < options_.half_open_max_attempts;
  if (permit.allowed) ++half_open_attempts_;
  return permit;
}

std::optional<CircuitTransition> CircuitBreaker::success(MonoTime now) {
  if (state_ == CircuitState::kOpen) return std::nullopt;
  std::optional<CircuitTransition> transition;
  if (state_ == CircuitState::kHalfOpen) transition = enter(CircuitState::kClosed, now);
  failure_count_ = 0;
  return transition;
}

std::optional<CircuitTransition> CircuitBreaker::failure(MonoTime now) {
  if (state_ == CircuitState::kOpen) return std::nullopt;
  ++failure_count_;
  if (state_ == CircuitState::kClosed && failure_count_ < options_.failure_threshold) {
    return std::nullopt;
  }
  ++trips_;
  return enter(CircuitState::kOpen, now);
}

CircuitBreakerStatus CircuitBreaker::status() const {
  return {state_, failure_count_, options_.failure_threshold, options_.reset_timeout, trips_};
}

CircuitTransition CircuitBreaker::enter(CircuitState state, MonoTime now) {
  const CircuitState from = std::exchange(state_, state);
  entered_at_ = now;
  return {from, state, failure_count_};
}

}  // namespace muster
