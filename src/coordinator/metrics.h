#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/limits/circuit_breaker.h"
#include "core/limits/latency_window.h"

namespace muster {

/// Counts of one coordinator at the moment of the call.
struct CoordinatorMetrics {
  std::uint64_t heartbeat_count = 0;
  std::uint64_t heartbeat_failures = 0;
  std::uint64_t election_count = 0;  ///< Campaigns of this worker.
  Duration election_duration{0};     ///< Duration of the last campaign that was decided.
  std::uint64_t leader_changes = 0;
  std::uint64_t worker_registrations = 0;  ///< Workers that appeared, including this one.
  std::uint64_t worker_timeouts = 0;       ///< Workers that fell silent.
  std::uint64_t epoch_drift_events =
      0;  ///< Refusals of this process by fences, at plugins and resources.
  std::uint64_t contention_events = 0;  ///< Late heartbeats, reported or not.
  std::uint64_t plugin_failures = 0;
  WallTime start_time{};
  WallTime last_heartbeat_time{};
  LatencySummary heartbeat_latency;
  std::vector<Duration> heartbeat_latencies;      ///< The samples of the summary, oldest first.
  std::vector<std::uint64_t> election_durations;  ///< By the bounds below; the last has the rest.
  std::vector<std::chrono::milliseconds> election_duration_bounds;
  Duration election_duration_sum{0};
  CircuitBreakerStatus circuit_breaker{};

  /// Uses the documented names: heartbeatCount, heartbeatLatencyP99, electionDurationHistogram …
  [[nodiscard]] std::string to_json() const;
};

/// Uses the documented names: state, failureCount, failureThreshold, resetTimeout, trips.
[[nodiscard]] std::string to_json(const CircuitBreakerStatus& status);

}  // namespace muster
