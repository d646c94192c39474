#pragma once

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// Puts families of metrics together for Prometheus' text format. All names begin with the same
/// words, all have the namespace as a label. One thread.
class PrometheusFamilies {
 public:
  /// The values of one metric by those of a further label.
  using ByLabel = std::vector<std::pair<std::string, double>>;

  PrometheusFamilies(std::string prefix, std::string name_space)
      : prefix_(std::move(prefix)), name_space_(std::move(name_space)) {}

  void counter(const char* name, const char* help, std::uint64_t value) {
    add(name, help, prometheus::MetricType::Counter).counter.value = static_cast<double>(value);
  }
  void counters(const char* name, const char* help, const std::string& label,
                const ByLabel& values) {
    for (const auto& [of, value] : values) {
      prometheus::ClientMetric& metric = add(name, help, prometheus::MetricType::Counter);
      metric.label.push_back({label, of});
      metric.counter.value = value;
    }
  }
  void gauge(const char* name, const char* help, double value) {
    add(name, help, prometheus::MetricType::Gauge).gauge.value = value;
  }
  void gauges(const char* name, const char* help, const std::string& label, const ByLabel& values) {
    for (const auto& [of, value] : values) {
      prometheus::ClientMetric& metric = add(name, help, prometheus::MetricType::Gauge);
      metric.label.push_back({label, of});
      metric.gauge.value = value;
    }
  }
  /// For its owner to fill.
  prometheus::ClientMetric& add(const char* name, const char* help, prometheus::MetricType type) {
    const std::string full = prefix_ + name;
    if (all_.empty() || all_.back().name != full) all_.push_back({full, help, type, {}});
    prometheus::ClientMetric& metric = all_.back().metric.emplace_back();
    metric.label.push_back({"namespace", name_space_});
    return metric;
  }
  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

 private:
  const std::string prefix_;
  const std::string name_space_;
  std::vector<prometheus::MetricFamily> all_;
};

}  // namespace muster
