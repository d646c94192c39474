#include "coordinator/metrics.h"

#include <nlohmann/json.hpp>

namespace muster {
namespace {

using Json = nlohmann::json;

Json breaker(const CircuitBreakerStatus& status) {
  return {{"state", to_string(status.state)},
          {"failureCount", status.failure_count},
          {"failureThreshold", status.failure_threshold},
          {"resetTimeout", to_ms(status.reset_timeout)},
          {"trips", status.trips}};
}

// Milliseconds with the fraction that a fast store needs.
double fine_ms(Duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

}  // namespace

std::string to_json(const CircuitBreakerStatus& status) {
  return breaker(status).dump();
}

std::string CoordinatorMetrics::to_json() const {
  Json json = {{"heartbeatCount", heartbeat_count},
               {"heartbeatFailures", heartbeat_failures},
               {"electionCount", election_count},
               {"electionDurationMs", fine_ms(election_duration)},
               {"leaderChanges", leader_changes},
               {"workerRegistrations", worker_registrations},
               {"workerTimeouts", worker_timeouts},
               {"epochDriftEvents", epoch_drift_events},
               {"contentionEvents", contention_events},
               {"pluginFailures", plugin_failures},
               {"startTime", to_ms(start_time)},
               {"lastHeartbeatTime", to_ms(last_heartbeat_time)},
               {"heartbeatLatencyP50", fine_ms(heartbeat_latency.p50)},
               {"heartbeatLatencyP95", fine_ms(heartbeat_latency.p95)},
               {"heartbeatLatencyP99", fine_ms(heartbeat_latency.p99)},
               {"heartbeatLatencySamples", heartbeat_latency.count},
               {"circuitBreaker", breaker(circuit_breaker)}};
  if (!heartbeat_latency.note().empty()) {
    json["heartbeatLatencyNote"] = std::string(heartbeat_latency.note());
  }
  Json latencies = Json::array();
  for (const Duration each : heartbeat_latencies) latencies.push_back(fine_ms(each));
  json["heartbeatLatencies"] = std::move(latencies);
  Json histogram = Json::object();
  for (std::size_t i = 0; i < election_durations.size(); ++i) {
    const std::string bound = i < election_duration_bounds.size()
                                  ? std::to_string(election_duration_bounds[i].count())
                                  : "inf";
    histogram[bound] = election_durations[i];
  }
  json["electionDurationHistogram"] = std::move(histogram);
  return json.dump();
}

}  // namespace muster
