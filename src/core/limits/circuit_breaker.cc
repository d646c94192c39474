#include "core/limits/circuit_breaker.h"

#include <algorithm>
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

CircuitBreaker::CircuitBreaker(CircuitBreakerOptions options, Duration heartbeat_interval)
    : options_(options), interval_(heartbeat_interval) {
  MUSTER_CHECK(options.failure_threshold > 0);
  MUSTER_CHECK(options.half_open_max_attempts > 0);
}

CircuitBreaker::Permit CircuitBreaker::ask(MonoTime now, bool leads) {
  Permit permit{now, std::nullopt};
  if (state_ == CircuitState::kOpen) {
    if (now - entered_at_ >= options_.reset_timeout) {
      permit.transition = enter(CircuitState::kHalfOpen, now);
      half_open_failures_ = 0;
    } else if (!leads) {
      permit.not_before = std::min(attempted_at_ + interval_, entered_at_ + options_.reset_timeout);
    }
  }
  if (permit.not_before <= now) attempted_at_ = now;
  return permit;
}

std::optional<CircuitTransition> CircuitBreaker::success(MonoTime now) {
  std::optional<CircuitTransition> transition;
  if (state_ != CircuitState::kClosed) transition = enter(CircuitState::kClosed, now);
  failure_count_ = 0;
  counted_at_.reset();
  return transition;
}

std::optional<CircuitTransition> CircuitBreaker::failure(MonoTime now) {
  const bool half_open = state_ == CircuitState::kHalfOpen;
  const bool repeated = counted_at_ && attempted_at_ - *counted_at_ < interval_;
  if (repeated && !half_open) return std::nullopt;
  counted_at_ = attempted_at_;
  ++failure_count_;
  if (half_open ? ++half_open_failures_ < options_.half_open_max_attempts
                : state_ == CircuitState::kOpen || failure_count_ < options_.failure_threshold) {
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
