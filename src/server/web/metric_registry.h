#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/metric_text.h"
#include "base/mutex.h"

namespace muster::server {

/// A count that only rises. Any thread.
class Counter {
 public:
  void add(std::uint64_t more = 1) { value_.fetch_add(more, std::memory_order_relaxed); }
  /// For what is counted elsewhere. A lower value changes nothing.
  void raise_to(std::uint64_t value);
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

/// A value that is set. Any thread.
class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

/// A histogram: how many observations fell between bounds, and their sum. Any thread.
class Buckets {
 public:
  /// Upper bounds, each included, rising.
  explicit Buckets(std::vector<double> bounds);

  void observe(double value);
  [[nodiscard]] metric::Distribution value() const;

 private:
  const std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;  ///< One more than the bounds.
  std::atomic<double> sum_ = 0;
};

/// The samples of one name, by the values of its labels. A sample is made when it is first asked
/// for, and stays unless it is dropped. Any thread.
template <typename Metric>
class Family {
 public:
  /// A family with `kSamplesMax` samples accepts no further one: others are counted together, with
  /// all labels "other". So no client can make it grow.
  static constexpr std::size_t kSamplesMax = 1024;
  static constexpr const char* kOther = "other";

  Family(std::vector<std::string> labels, std::function<std::unique_ptr<Metric>()> make)
      : labels_(std::move(labels)), make_(std::move(make)) {}

  /// Requires: as many values as the family has labels, in their order.
  Metric& with(const std::vector<std::string>& values) MUSTER_EXCLUDES(mutex_) {
    MUSTER_CHECK(values.size() == labels_.size());
    const MutexLock lock(mutex_);
    const auto found = samples_.find(values);
    if (found != samples_.end()) return *found->second;
    const bool full = samples_.size() >= kSamplesMax;
    auto& sample = samples_[full ? std::vector<std::string>(labels_.size(), kOther) : values];
    if (!sample) sample = make_();
    return *sample;
  }

  /// Drops the samples that are not among the keys of `kept`. Requires: nobody keeps a reference to
  /// one of them.
  template <typename Kept>
  void retain(const Kept& kept) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    std::erase_if(samples_, [&](const auto& each) { return !kept.contains(each.first); });
  }

  void write(metric::Text& out) const MUSTER_EXCLUDES(mutex_) {
    for (const auto& [labels, sample] : samples()) out.sample(labels, sample->value());
  }

 private:
  /// Written without the lock: a scrape never blocks counting.
  [[nodiscard]] std::vector<std::pair<metric::Labels, std::shared_ptr<const Metric>>> samples()
      const MUSTER_EXCLUDES(mutex_) {
    std::vector<std::pair<metric::Labels, std::shared_ptr<const Metric>>> all;
    const MutexLock lock(mutex_);
    for (const auto& [values, sample] : samples_) {
      metric::Labels labels;
      for (std::size_t i = 0; i < values.size(); ++i) labels.emplace_back(labels_[i], values[i]);
      all.emplace_back(std::move(labels), sample);
    }
    return all;
  }

  const std::vector<std::string> labels_;
  const std::function<std::unique_ptr<Metric>()> make_;
  mutable Mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<Metric>> samples_ MUSTER_GUARDED_BY(mutex_);
};

/// Named families, written in the order in which they were declared. Declare on one thread, before
/// anything is read; write on any.
class MetricRegistry {
 public:
  using Labels = std::vector<std::string>;  ///< Names, in the order in which they are written.

  Family<Counter>& counters(const std::string& name, const std::string& help, Labels labels);
  Family<Gauge>& gauges(const std::string& name, const std::string& help, Labels labels);
  Family<Buckets>& histograms(const std::string& name, const std::string& help, Labels labels,
                              const std::vector<double>& bounds);

  /// In Prometheus' text format. A family without samples is left out.
  [[nodiscard]] std::string text() const;

 private:
  template <typename Metric>
  Family<Metric>& declare(const std::string& name, const std::string& help, metric::Type type,
                          Labels labels, std::function<std::unique_ptr<Metric>()> make);

  struct Declared {
    std::string name;
    std::string help;
    metric::Type type;
    std::function<void(metric::Text&)> write;
  };
  std::vector<Declared> families_;
};

}  // namespace muster::server
