#include "server/web/metric_registry.h"

#include <algorithm>

namespace muster::server {

void Counter::raise_to(std::uint64_t value) {
  std::uint64_t now = value_.load(std::memory_order_relaxed);
  while (now < value && !value_.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
  }
}

Buckets::Buckets(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Buckets::observe(double value) {
  const auto bound = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  counts_[static_cast<std::size_t>(bound - bounds_.begin())].fetch_add(1,
                                                                       std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

metric::Distribution Buckets::value() const {
  metric::Distribution all{bounds_, {}, sum_.load(std::memory_order_relaxed)};
  for (const auto& count : counts_) all.counts.push_back(count.load(std::memory_order_relaxed));
  return all;
}

template <typename Metric>
Family<Metric>& MetricRegistry::declare(const std::string& name, const std::string& help,
                                        metric::Type type, Labels labels,
                                        std::function<std::unique_ptr<Metric>()> make) {
  auto family = std::make_shared<Family<Metric>>(std::move(labels), std::move(make));
  families_.push_back({name, help, type, [family](metric::Text& out) { family->write(out); }});
  return *family;
}

Family<Counter>& MetricRegistry::counters(const std::string& name, const std::string& help,
                                          Labels labels) {
  return declare<Counter>(name, help, metric::Type::kCounter, std::move(labels),
                          [] { return std::make_unique<Counter>(); });
}

Family<Gauge>& MetricRegistry::gauges(const std::string& name, const std::string& help,
                                      Labels labels) {
  return declare<Gauge>(name, help, metric::Type::kGauge, std::move(labels),
                        [] { return std::make_unique<Gauge>(); });
}

Family<Buckets>& MetricRegistry::histograms(const std::string& name, const std::string& help,
                                            Labels labels, const std::vector<double>& bounds) {
  return declare<Buckets>(name, help, metric::Type::kHistogram, std::move(labels),
                          [bounds] { return std::make_unique<Buckets>(bounds); });
}

std::string MetricRegistry::text() const {
  metric::Text out;
  for (const Declared& family : families_) {
    out.family(family.name, family.help, family.type);
    family.write(out);
  }
  return out.text();
}

}  // namespace muster::server
