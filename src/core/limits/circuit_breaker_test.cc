#include "core/limits/circuit_breaker.h"

#include <gtest/gtest.h>

namespace muster {
namespace circuit_breaker_test {

constexpr MonoTime kStart{100s};
constexpr Duration kInterval = 5s;

/// A breaker and the time that passes for it.
struct Scene {
  explicit Scene(CircuitBreakerOptions options = {}) : breaker(options, kInterval) {}

  bool allowed(bool leads = false) {
    const auto permit = breaker.ask(now, leads);
    if (permit.transition) last = permit.transition;
    return permit.not_before <= now;
  }
  /// An attempt that must be allowed, and fails.
  void fail(bool leads = false) {
    ASSERT_TRUE(allowed(leads));
    if (const auto t = breaker.failure(now)) last = t;
  }
  void succeed(bool leads = false) {
    ASSERT_TRUE(allowed(leads));
    if (const auto t = breaker.success(now)) last = t;
  }
  /// Fails one attempt per interval until the circuit opens; the last of them is now.
  void trip() {
    for (fail(); state() != CircuitState::kOpen; fail()) now += kInterval;
  }
  [[nodiscard]] CircuitState state() const { return breaker.status().state; }
  void expect_last(CircuitState from, CircuitState to, std::uint64_t failures) {
    ASSERT_TRUE(last);
    EXPECT_EQ(last->from, from);
    EXPECT_EQ(last->to, to);
    EXPECT_EQ(last->failure_count, failures);
    last.reset();
  }

  CircuitBreaker breaker;
  MonoTime now = kStart;
  std::optional<CircuitTransition> last;
};

// S12: the breaker opens at its threshold, half-opens, closes, and what it returns agrees with
// its status at every step.
TEST(CircuitBreakerTest, OpensHalfOpensAndCloses) {
  Scene scene;
  for (std::uint64_t n = 1; n < 5; ++n) {
    scene.fail();
    EXPECT_EQ(scene.breaker.status().failure_count, n);
    EXPECT_EQ(scene.state(), CircuitState::kClosed);
    scene.now += kInterval;
  }
  scene.fail();
  scene.expect_last(CircuitState::kClosed, CircuitState::kOpen, 5);
  EXPECT_EQ(scene.breaker.status().trips, 1u);
  scene.now += 30s;
  EXPECT_TRUE(scene.allowed());
  scene.expect_last(CircuitState::kOpen, CircuitState::kHalfOpen, 5);
  EXPECT_EQ(scene.state(), CircuitState::kHalfOpen);
  scene.succeed();
  scene.expect_last(CircuitState::kHalfOpen, CircuitState::kClosed, 5);
  EXPECT_EQ(scene.state(), CircuitState::kClosed);
  EXPECT_EQ(scene.breaker.status().failure_count, 0u);
  EXPECT_EQ(scene.breaker.status().trips, 1u);
}

TEST(CircuitBreakerTest, QuickRepetitionsOfAHeartbeatAreOneFailure) {
  Scene scene;
  for (int i = 0; i < 100; ++i) {
    scene.fail();
    scene.now += kInterval / 50;
  }
  EXPECT_EQ(scene.breaker.status().failure_count, 2u);
  EXPECT_EQ(scene.state(), CircuitState::kClosed);
}

TEST(CircuitBreakerTest, SuccessStartsTheCountOfFailuresAnew) {
  Scene scene({.failure_threshold = 2});
  scene.fail();
  scene.succeed();
  scene.fail();
  EXPECT_EQ(scene.state(), CircuitState::kClosed);
  scene.now += kInterval;
  scene.fail();
  EXPECT_EQ(scene.state(), CircuitState::kOpen);
}

// R06: recovery costs at most a heartbeat, however long reset_timeout is.
TEST(CircuitBreakerTest, WhileOpenOneAttemptPerIntervalLooksWhetherTheStoreIsBack) {
  Scene scene({.reset_timeout = 1h});
  scene.trip();
  scene.last.reset();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(scene.allowed());
    EXPECT_EQ(scene.breaker.ask(scene.now, false).not_before, scene.now + kInterval);
    scene.now += kInterval - 1ns;
    EXPECT_FALSE(scene.allowed());
    scene.now += 1ns;
    scene.fail();
    EXPECT_FALSE(scene.last);
  }
  EXPECT_EQ(scene.breaker.status().trips, 1u);
  EXPECT_EQ(scene.breaker.status().failure_count, 8u) << "those count, too";
  scene.now += kInterval;
  scene.succeed();
  scene.expect_last(CircuitState::kOpen, CircuitState::kClosed, 8);
}

// R06: a lease of 60 s was lost after an outage of 30 s.
TEST(CircuitBreakerTest, WhoeverLeadsMayRenewAtAnyTime) {
  Scene scene({.reset_timeout = 1h});
  scene.trip();
  for (int i = 0; i < 20; ++i) {
    scene.now += 500ms;
    scene.fail(/*leads=*/true);
  }
  EXPECT_EQ(scene.breaker.status().failure_count, 7u) << "one per interval";
  scene.succeed(/*leads=*/true);
  EXPECT_EQ(scene.state(), CircuitState::kClosed);
}

TEST(CircuitBreakerTest, FailureInHalfOpenOpensAgainAndCountsATrip) {
  Scene scene;
  scene.trip();
  scene.now += 30s;
  scene.fail();
  scene.expect_last(CircuitState::kHalfOpen, CircuitState::kOpen, 6);
  EXPECT_EQ(scene.breaker.status().trips, 2u);
  // The wait counts from the failure, not from the first trip.
  scene.now += 30s - 1ns;
  (void)scene.allowed();
  EXPECT_EQ(scene.state(), CircuitState::kOpen);
  scene.now += 1ns;
  (void)scene.allowed();
  EXPECT_EQ(scene.state(), CircuitState::kHalfOpen);
}

// R06: the option changed nothing, since the first outcome ended half-open.
TEST(CircuitBreakerTest, HalfOpenMakesSoManyAttemptsBeforeItOpensAgain) {
  Scene scene({.half_open_max_attempts = 3});
  scene.trip();
  for (std::uint64_t round = 1; round <= 2; ++round) {
    EXPECT_EQ(scene.breaker.status().trips, round);
    scene.now += 30s;
    for (int attempt = 0; attempt < 2; ++attempt) {
      scene.fail();
      EXPECT_EQ(scene.state(), CircuitState::kHalfOpen) << "nor is there a wait between them";
    }
    if (round == 2) break;
    scene.fail();
    EXPECT_EQ(scene.state(), CircuitState::kOpen);
  }
  scene.succeed();
  EXPECT_EQ(scene.state(), CircuitState::kClosed);
}

TEST(CircuitBreakerTest, StatusTellsItsOptions) {
  const CircuitBreaker breaker({.failure_threshold = 7, .reset_timeout = 3s}, kInterval);
  EXPECT_EQ(breaker.status().failure_threshold, 7u);
  EXPECT_EQ(breaker.status().reset_timeout, 3s);
  EXPECT_STREQ(to_string(CircuitState::kClosed), "closed");
  EXPECT_STREQ(to_string(CircuitState::kOpen), "open");
  EXPECT_STREQ(to_string(CircuitState::kHalfOpen), "half-open");
}

}  // namespace circuit_breaker_test
}  // namespace muster
