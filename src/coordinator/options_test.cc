#include "coordinator/options.h"

#include <gtest/gtest.h>

#include "coordinator/events.h"

namespace muster {
namespace options_test {

TEST(CoordinatorOptionsTest, DefaultsAreThoseOfTheOriginalAndSafe) {
  const CoordinatorOptions options;
  EXPECT_EQ(options.heartbeat_interval, 5s);
  EXPECT_EQ(options.heartbeat_jitter, 1s);
  EXPECT_EQ(options.lease_timeout, 15s);
  EXPECT_EQ(options.worker_timeout, 20s);
  EXPECT_EQ(options.startup_jitter_min, 0s);
  EXPECT_EQ(options.startup_jitter_max, 5s);
  EXPECT_EQ(options.metrics_buffer_size, 100u);
  EXPECT_TRUE(options.contention.enabled);
  EXPECT_EQ(options.contention.threshold, 2.0);
  EXPECT_EQ(options.contention.rate_limit, 30s);
  EXPECT_EQ(options.circuit_breaker.failure_threshold, 5u);
  EXPECT_EQ(options.circuit_breaker.reset_timeout, 30s);
  EXPECT_EQ(options.circuit_breaker.half_open_max_attempts, 1u);
  EXPECT_TRUE(options.epoch_fencing.enabled);
  EXPECT_EQ(options.epoch_fencing.grace, 5s);
  EXPECT_TRUE(options.validate().ok());
}

// S20: every option is read, flat or nested.
TEST(CoordinatorOptionsTest, EveryOptionIsReadByItsName) {
  const auto options = CoordinatorOptions::from_json(R"({
    "enableCoordinator": false, "heartbeatInterval": 1000, "heartbeatJitter": 200,
    "leaseTimeout": 4000, "workerTimeout": 6000, "startupJitterMin": 10, "startupJitterMax": 20,
    "requestTimeout": 500, "metricsBufferSize": 7,
    "contention": {"enabled": false, "threshold": 3.5, "rateLimitMs": 1000},
    "circuitBreaker": {"failureThreshold": 2, "resetTimeout": 9000, "halfOpenMaxAttempts": 3},
    "epochFencingEnabled": false, "epochGracePeriodMs": 100, "workerId": "w", "pod": "p"})");
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_FALSE(options->enable_coordinator);
  EXPECT_EQ(options->heartbeat_interval, 1s);
  EXPECT_EQ(options->heartbeat_jitter, 200ms);
  EXPECT_EQ(options->lease_timeout, 4s);
  EXPECT_EQ(options->worker_timeout, 6s);
  EXPECT_EQ(options->startup_jitter_min, 10ms);
  EXPECT_EQ(options->startup_jitter_max, 20ms);
  EXPECT_EQ(options->timings().request_timeout, 500ms);
  EXPECT_EQ(options->metrics_buffer_size, 7u);
  EXPECT_FALSE(options->contention.enabled);
  EXPECT_EQ(options->contention.threshold, 3.5);
  EXPECT_EQ(options->contention.rate_limit, 1s);
  EXPECT_EQ(options->circuit_breaker.failure_threshold, 2u);
  EXPECT_EQ(options->circuit_breaker.reset_timeout, 9s);
  EXPECT_EQ(options->circuit_breaker.half_open_max_attempts, 3u);
  EXPECT_FALSE(options->epoch_fencing.enabled);
  EXPECT_EQ(options->epoch_fencing.grace, 100ms);
  EXPECT_EQ(options->worker_id, WorkerId("w"));
  EXPECT_EQ(options->pod, "p");
  EXPECT_TRUE(options->validate().ok());
}

TEST(CoordinatorOptionsTest, TheFlatNamesOfTheEarlierDesignsWorkToo) {
  const auto options = CoordinatorOptions::from_json(
      R"({"contentionDetectionEnabled": false, "contentionThreshold": 4, "epochFencingEnabled": false})");
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->contention.enabled);
  EXPECT_EQ(options->contention.threshold, 4.0);
}

// S20: nor is one that nobody knows passed over.
TEST(CoordinatorOptionsTest, AnUnknownOptionIsAnErrorThatSuggestsTheNearest) {
  const auto options = CoordinatorOptions::from_json(R"({"heartbeatIntervall": 5})");
  ASSERT_TRUE(options.is(Errc::kInvalid));
  EXPECT_NE(options.error().message.find("heartbeatInterval?"), std::string::npos);
  EXPECT_TRUE(
      CoordinatorOptions::from_json(R"({"contention": {"treshold": 2}})").is(Errc::kInvalid));
}

TEST(CoordinatorOptionsTest, WrongTypesAndUnsafeValuesAreRefused) {
  for (const char* json : {R"({"leaseTimeout": "15s"})", R"({"leaseTimeout": -1})", "[]", "{",
                           R"({"contention": {"threshold": 0}})", R"({"metricsBufferSize": 0})",
                           R"({"epochFencingEnabled": 1})"}) {
    EXPECT_TRUE(CoordinatorOptions::from_json(json).is(Errc::kInvalid)) << json;
  }
  CoordinatorOptions options;
  options.lease_timeout = 6s;
  EXPECT_TRUE(options.validate().is(Errc::kInvalid));
  options = {};
  options.worker_timeout = 10s;
  EXPECT_TRUE(options.validate().is(Errc::kInvalid));
  options = {};
  options.startup_jitter_min = 6s;
  EXPECT_TRUE(options.validate().is(Errc::kInvalid));
  options = {};
  options.worker_id = WorkerId("a/b");
  EXPECT_TRUE(options.validate().is(Errc::kInvalid));
}

TEST(CoordinatorEventTest, PayloadsHaveTheNamesOfTheOriginal) {
  EXPECT_EQ(
      to_json(LeaderChangedEvent{"default", WorkerId("a"), WorkerId("b"), Epoch(2)}),
      R"({"epoch":2,"event":"leader:changed","namespace":"default","newLeader":"b","previousLeader":"a"})");
  EXPECT_EQ(
      to_json(LeaderChangedEvent{"default", {}, WorkerId("b"), Epoch(1)}),
      R"({"epoch":1,"event":"leader:changed","namespace":"default","newLeader":"b","previousLeader":null})");
  EXPECT_EQ(to_json(WorkersUpdatedEvent{"default", {WorkerId("a")}}),
            R"({"event":"workers:updated","namespace":"default","workers":["a"]})");
  EXPECT_EQ(
      to_json(ContentionDetectedEvent{"default", 12s, 5s, 2.5}),
      R"({"duration":12000,"event":"contention:detected","expected":5000,"namespace":"default","ratio":2.5})");
  EXPECT_EQ(to_json(CircuitBreakerEvent{"default", CircuitState::kOpen, 5}),
            R"({"event":"circuitBreaker:open","failureCount":5,"namespace":"default"})");
}

}  // namespace options_test
}  // namespace muster
