#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster {

/// Percentiles of the latest samples, by nearest rank: each is a latency that really occurred. All
/// are zero until there is enough data, because a p99 of three samples misleads.
struct LatencySummary {
  std::size_t count = 0;  ///< The number of samples.
  Duration p50{0};
  Duration p95{0};
  Duration p99{0};
  bool sufficient = false;

  /// "insufficient data", or empty if the percentiles are meaningful.
  [[nodiscard]] std::string_view note() const;
};

/// Keeps the latest `capacity` latencies. Memory is fixed at construction. Recording is cheap;
/// summarizing sorts a copy. Pure. Threads: one.
class LatencyWindow {
 public:
  /// The number of samples, over all time, before a summary is meaningful. A window smaller than
  /// this is its owner's choice and does not prevent a summary.
  static constexpr std::size_t kLeastSamples = 10;

  /// Requires: `capacity` is not 0.
  explicit LatencyWindow(std::size_t capacity = 100);

  void record(Duration latency);
  [[nodiscard]] LatencySummary summary() const;
  /// The kept samples, oldest first.
  [[nodiscard]] std::vector<Duration> samples() const;

 private:
  std::size_t capacity_;
  std::size_t recorded_ = 0;
  std::vector<Duration> ring_;
};

}  // namespace muster
