#include "coordinator/prometheus_text.h"

#include "base/metric_text.h"

namespace muster {
namespace {

double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

metric::Distribution election_durations(const CoordinatorMetrics& m) {
  metric::Distribution distribution;
  for (const auto bound : m.election_duration_bounds) {
    distribution.bounds.push_back(seconds(bound));
  }
  distribution.counts = m.election_durations;
  distribution.sum = seconds(m.election_duration_sum);
  return distribution;
}

}  // namespace

std::string prometheus_text(const GlobalCoordinator& coordinator) {
  const CoordinatorMetrics m = coordinator.metrics();
  const Duration left = coordinator.lease_left();
  metric::Text f("muster_coordinator_", {{"namespace", coordinator.name_space()}});
  f.gauge("leader", "1 while this worker leads", left > Duration(0) ? 1 : 0);
  f.gauge("epoch", "Epoch of the leadership as seen here",
          static_cast<double>(coordinator.epoch().value()));
  f.gauge("lease_left_seconds", "How long this worker may lead without another renewal",
          seconds(left));
  f.gauge("workers", "Live workers as seen here",
          static_cast<double>(coordinator.active_workers().size()));
  f.counter("heartbeats_total", "Heartbeats sent", m.heartbeat_count);
  f.counter("heartbeat_failures_total", "Heartbeats that failed", m.heartbeat_failures);
  f.summary("heartbeat_latency_seconds",
            "Latency of the latest heartbeats; 0 while there are too "
            "few",
            {{"0.5", seconds(m.heartbeat_latency.p50)},
             {"0.95", seconds(m.heartbeat_latency.p95)},
             {"0.99", seconds(m.heartbeat_latency.p99)}});
  f.counter("elections_total", "Campaigns of this worker", m.election_count);
  f.histogram("election_duration_seconds", "Duration of elections", election_durations(m));
  f.counter("leader_changes_total", "Leaders seen", m.leader_changes);
  f.counter("worker_registrations_total", "Workers that appeared", m.worker_registrations);
  f.counter("worker_timeouts_total", "Workers that fell silent", m.worker_timeouts);
  f.counter("epoch_drift_total", "Refusals of this process by fences", m.epoch_drift_events);
  f.counter("contention_total", "Heartbeats that came later than contention.threshold allows",
            m.contention_events);
  f.counter("plugin_failures_total", "Plugin callbacks that failed", m.plugin_failures);
  const auto state = m.circuit_breaker.state;
  f.gauges("breaker_state", "1 for the state that the circuit breaker is in", "state",
           {{"closed", state == CircuitState::kClosed ? 1 : 0},
            {"open", state == CircuitState::kOpen ? 1 : 0},
            {"half_open", state == CircuitState::kHalfOpen ? 1 : 0}});
  f.counter("breaker_trips_total", "Times that the circuit breaker opened",
            m.circuit_breaker.trips);
  return f.text();
}

}  // namespace muster
