#include "coordinator/prometheus_text.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

namespace muster {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

/// Puts families together, all with the same label.
class Families {
 public:
  explicit Families(std::string name_space) : name_space_(std::move(name_space)) {}

  void counter(const char* name, const char* help, std::uint64_t value) {
    ClientMetric& metric = add(name, help, MetricType::Counter);
    metric.counter.value = static_cast<double>(value);
  }
  void gauge(const char* name, const char* help, double value) {
    add(name, help, MetricType::Gauge).gauge.value = value;
  }
  void gauge(const char* name, const char* help, const std::string& label,
             const std::vector<std::pair<std::string, double>>& values) {
    for (const auto& [of, value] : values) {
      ClientMetric& metric = add(name, help, MetricType::Gauge);
      metric.label.push_back({label, of});
      metric.gauge.value = value;
    }
  }
  void histogram(const char* name, const char* help, const CoordinatorMetrics& m) {
    ClientMetric& metric = add(name, help, MetricType::Histogram);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < m.election_durations.size(); ++i) {
      count += m.election_durations[i];
      if (i >= m.election_duration_bounds.size()) continue;
      metric.histogram.bucket.push_back({count, seconds(m.election_duration_bounds[i])});
    }
    metric.histogram.sample_count = count;
    metric.histogram.sample_sum = 0;
  }
  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

 private:
  ClientMetric& add(const char* name, const char* help, MetricType type) {
    const std::string full = std::string("muster_coordinator_") + name;
    if (all_.empty() || all_.back().name != full) all_.push_back({full, help, type, {}});
    ClientMetric& metric = all_.back().metric.emplace_back();
    metric.label.push_back({"namespace", name_space_});
    return metric;
  }

  std::string name_space_;
  std::vector<MetricFamily> all_;
};

}  // namespace

std::string prometheus_text(const GlobalCoordinator& coordinator) {
  const CoordinatorMetrics m = coordinator.metrics();
  const Duration left = coordinator.lease_left();
  Families f(coordinator.name_space());
  f.gauge("leader", "1 while this worker leads", left > Duration(0) ? 1 : 0);
  f.gauge("epoch", "Epoch of the leadership as seen here",
          static_cast<double>(coordinator.epoch().value()));
  f.gauge("lease_left_seconds", "How long this worker may lead without another renewal",
          seconds(left));
  f.gauge("workers", "Live workers as seen here",
          static_cast<double>(coordinator.active_workers().size()));
  f.counter("heartbeats_total", "Heartbeats sent", m.heartbeat_count);
  f.counter("heartbeat_failures_total", "Heartbeats that failed", m.heartbeat_failures);
  f.gauge("heartbeat_latency_seconds", "Of the latest heartbeats; 0 while there are too few",
          "quantile",
          {{"0.5", seconds(m.heartbeat_latency.p50)},
           {"0.95", seconds(m.heartbeat_latency.p95)},
           {"0.99", seconds(m.heartbeat_latency.p99)}});
  f.counter("elections_total", "Times that this worker stood for election", m.election_count);
  f.histogram("election_duration_seconds", "How long elections took; the sum is not kept", m);
  f.counter("leader_changes_total", "Leaders seen", m.leader_changes);
  f.counter("worker_registrations_total", "Workers seen to appear", m.worker_registrations);
  f.counter("worker_timeouts_total", "Workers seen to fall silent", m.worker_timeouts);
  f.counter("epoch_drift_total", "Tasks that fences rejected", m.epoch_drift_events);
  f.counter("contention_total", "Elections that were contended", m.contention_events);
  f.counter("plugin_failures_total", "Failures of plugins", m.plugin_failures);
  const auto state = m.circuit_breaker.state;
  f.gauge("breaker_state", "1 for the state that the circuit breaker is in", "state",
          {{"closed", state == CircuitState::kClosed ? 1 : 0},
           {"open", state == CircuitState::kOpen ? 1 : 0},
           {"half_open", state == CircuitState::kHalfOpen ? 1 : 0}});
  f.counter("breaker_trips_total", "Times that the circuit breaker opened",
            m.circuit_breaker.trips);
  return f.text();
}

}  // namespace muster
