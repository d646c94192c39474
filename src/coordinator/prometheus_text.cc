#include "coordinator/prometheus_text.h"

#include "coordinator/prometheus_families.h"

namespace muster {
namespace {

double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

void add_histogram(PrometheusFamilies& families, const char* name, const char* help,
                   const CoordinatorMetrics& m) {
  prometheus::ClientMetric& metric = families.add(name, help, prometheus::MetricType::Histogram);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < m.election_durations.size(); ++i) {
    count += m.election_durations[i];
    if (i >= m.election_duration_bounds.size()) continue;
    metric.histogram.bucket.push_back({count, seconds(m.election_duration_bounds[i])});
  }
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = seconds(m.election_duration_sum);
}

}  // namespace

std::string prometheus_text(const GlobalCoordinator& coordinator) {
  const CoordinatorMetrics m = coordinator.metrics();
  const Duration left = coordinator.lease_left();
  PrometheusFamilies f("muster_coordinator_", coordinator.name_space());
  f.gauge("leader", "1 while this worker leads", left > Duration(0) ? 1 : 0);
  f.gauge("epoch", "Epoch of the leadership as seen here",
          static_cast<double>(coordinator.epoch().value()));
  f.gauge("lease_left_seconds", "How long this worker may lead without another renewal",
          seconds(left));
  f.gauge("workers", "Live workers as seen here",
          static_cast<double>(coordinator.active_workers().size()));
  f.counter("heartbeats_total", "Heartbeats sent", m.heartbeat_count);
  f.counter("heartbeat_failures_total", "Heartbeats that failed", m.heartbeat_failures);
  f.gauges("heartbeat_latency_seconds", "Of the latest heartbeats; 0 while there are too few",
           "quantile",
           {{"0.5", seconds(m.heartbeat_latency.p50)},
            {"0.95", seconds(m.heartbeat_latency.p95)},
            {"0.99", seconds(m.heartbeat_latency.p99)}});
  f.counter("elections_total", "Times that this worker stood for election", m.election_count);
  add_histogram(f, "election_duration_seconds", "How long elections took", m);
  f.counter("leader_changes_total", "Leaders seen", m.leader_changes);
  f.counter("worker_registrations_total", "Workers seen to appear", m.worker_registrations);
  f.counter("worker_timeouts_total", "Workers seen to fall silent", m.worker_timeouts);
  f.counter("epoch_drift_total", "What fences refused this process", m.epoch_drift_events);
  f.counter("contention_total", "Heartbeats that came later than contention.threshold allows",
            m.contention_events);
  f.counter("plugin_failures_total", "Failures of plugins", m.plugin_failures);
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
