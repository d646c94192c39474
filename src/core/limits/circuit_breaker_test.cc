#include "core/limits/circuit_breaker.h"

#include <gtest/gtest.h>

namespace muster {
namespace circuit_breaker_test {

constexpr MonoTime kStart{100s};

/// Fails allowed attempts until the circuit opens.
void trip(CircuitBreaker& breaker, MonoTime now) {
  while (breaker.status().state != CircuitState::kOpen) {
    ASSERT_TRUE(breaker.allow(now).allowed);
    [[maybe_unused]] const auto transition = breaker.failure(now);
  }
}

void expect_transition(const std::optional<CircuitTransition>& transition, CircuitState from,
                       CircuitState to, std::uint64_t failure_count) {
  ASSERT_TRUE(transition);
  EXPECT_EQ(transition->from, from);
  EXPECT_EQ(transition->to, to);
  EXPECT_EQ(transition->failure_count, failure_count);
}

// S12: the breaker opens at its threshold, half-opens, closes, and what it returns agrees with
// its status at every step.
TEST(CircuitBreakerTest, OpensHalfOpensAndCloses) {
  CircuitBreaker breaker;
  for (std::uint64_t n = 1; n < 5; ++n) {
    EXPECT_TRUE(breaker.allow(kStart).allowed);
    EXPECT_FALSE(breaker.failure(kStart));
    EXPECT_EQ(breaker.status().failure_count, n);
    EXPECT_EQ(breaker.status().state, CircuitState::kClosed);
  }
  expect_transition(breaker.failure(kStart), CircuitState::kClosed, CircuitState::kOpen, 5);
  EXPECT_EQ(breaker.status().state, CircuitState::kOpen);
  EXPECT_EQ(breaker.status().trips, 1u);

  EXPECT_FALSE(breaker.allow(kStart).allowed);
  EXPECT_FALSE(breaker.allow(kStart + 30s - 1ns).allowed);
  const auto permit = breaker.allow(kStart + 30s);
  EXPECT_TRUE(permit.allowed);
  expect_transition(permit.transition, CircuitState::kOpen, CircuitState::kHalfOpen, 5);
  EXPECT_EQ(breaker.status().state, CircuitState::kHalfOpen);

  expect_transition(breaker.success(kStart + 31s), CircuitState::kHalfOpen, CircuitState::kClosed,
                    5);
  EXPECT_EQ(breaker.status().state, CircuitState::kClosed);
  EXPECT_EQ(breaker.status().failure_count, 0u);
  EXPECT_EQ(breaker.status().trips, 1u);
  EXPECT_TRUE(breaker.allow(kStart + 31s).allowed);
}

TEST(CircuitBreakerTest, SuccessStartsTheCountOfFailuresAnew) {
  CircuitBreaker breaker({.failure_threshold = 2});
  EXPECT_FALSE(breaker.failure(kStart));
  EXPECT_FALSE(breaker.success(kStart));
  EXPECT_FALSE(breaker.failure(kStart));
  EXPECT_TRUE(breaker.failure(kStart));
}

TEST(CircuitBreakerTest, FailureInHalfOpenOpensAgainAndCountsATrip) {
  CircuitBreaker breaker;
  trip(breaker, kStart);
  ASSERT_TRUE(breaker.allow(kStart + 30s).allowed);
  expect_transition(breaker.failure(kStart + 35s), CircuitState::kHalfOpen, CircuitState::kOpen, 6);
  EXPECT_EQ(breaker.status().trips, 2u);
  // The wait counts from the failure, not from the first trip.
  EXPECT_FALSE(breaker.allow(kStart + 65s - 1ns).allowed);
  EXPECT_TRUE(breaker.allow(kStart + 65s).allowed);
}

TEST(CircuitBreakerTest, HalfOpenAllowsOnlySoManyAttemptsInFlight) {
  CircuitBreaker breaker({.half_open_max_attempts = 2});
  trip(breaker, kStart);
  EXPECT_TRUE(breaker.allow(kStart + 30s).allowed);
  EXPECT_TRUE(breaker.allow(kStart + 30s).allowed);
  const auto third = breaker.allow(kStart + 300s);
  EXPECT_FALSE(third.allowed);
  EXPECT_FALSE(third.transition);
}

TEST(CircuitBreakerTest, EachHalfOpenPeriodHasItsOwnAttempts) {
  CircuitBreaker breaker;
  trip(breaker, kStart);
  MonoTime now = kStart;
  for (int round = 0; round < 3; ++round) {
    now += 30s;
    ASSERT_TRUE(breaker.allow(now).allowed);
    ASSERT_FALSE(breaker.allow(now).allowed);
    ASSERT_TRUE(breaker.failure(now));
  }
  EXPECT_EQ(breaker.status().trips, 4u);
}

TEST(CircuitBreakerTest, OutcomesThatArriveWhileOpenChangeNothing) {
  CircuitBreaker breaker;
  trip(breaker, kStart);
  EXPECT_FALSE(breaker.failure(kStart + 29s));
  EXPECT_FALSE(breaker.success(kStart + 29s));
  EXPECT_EQ(breaker.status().state, CircuitState::kOpen);
  EXPECT_EQ(breaker.status().failure_count, 5u);
  EXPECT_EQ(breaker.status().trips, 1u);
  EXPECT_TRUE(breaker.allow(kStart + 30s).allowed);
}

TEST(CircuitBreakerTest, StatusTellsItsOptions) {
  CircuitBreaker breaker({.failure_threshold = 7, .reset_timeout = 3s});
  EXPECT_EQ(breaker.status().failure_threshold, 7u);
  EXPECT_EQ(breaker.status().reset_timeout, 3s);
  EXPECT_STREQ(to_string(CircuitState::kClosed), "closed");
  EXPECT_STREQ(to_string(CircuitState::kOpen), "open");
  EXPECT_STREQ(to_string(CircuitState::kHalfOpen), "half-open");
}

}  // namespace circuit_breaker_test
}  // namespace muster
