#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster {

/// Percentiles of the latest samples, by nearest rank: each is a latency that really occurred.
/// All are zero until there is enough data, because a p99 of three samples misleads.
struct LatencySummary {
  std::size_t count = 0;  ///< Samples that the percentiles rest on.
  Duration p50{0};
  Duration p95{0};
  Duration p99{0};
  bool sufficient = false;

  /// "insufficient data", or empty when the percentiles can be relied on.
  [[nodiscard]] std::string_view note() const;
};

/// Remembers the latest `capacity` latencies and forgets older ones. Memory is fixed at
/// construction. Recording is cheap; summarizing sorts a copy. Pure; one thread.
class LatencyWindow {
 public:
  /// So many samples must have been recorded, ever, before a summary speaks. A window smaller
  /// than this is its owner's choice and does not silence it.
  static constexpr std::size_t kLeastSamples = 10;

  /// `capacity` must not be 0.
  explicit LatencyWindow(std::size_t capacity = 100);

  void record(Duration latency);
  [[nodiscard]] LatencySummary summary() const;
  /// What is remembered, the oldest first.
  [[nodiscard]] std::vector<Duration> samples() const;

 private:
  std::size_t capacity_;
  std::size_t recorded_ = 0;
  std::vector<Duration> ring_;
};

}  // namespace muster
