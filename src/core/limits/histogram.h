#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace muster {

/// Durations sorted into fixed buckets, such as `electionDurationHistogram`. Bucket i counts
/// durations up to its bound and above the previous one; one more bucket counts longer ones. Counts
/// are not cumulative. Pure. Threads: one.
class Histogram {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// Buckets from one fast request to a failed failover.
  [[nodiscard]] static Histogram for_elections();

  /// `bounds` must be strictly rising and not empty.
  explicit Histogram(std::vector<Milliseconds> bounds);

  void observe(Duration value);

  [[nodiscard]] std::span<const Milliseconds> bounds() const { return bounds_; }
  /// One longer than bounds(): the last count is for durations above every bound.
  [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  std::vector<Milliseconds> bounds_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  Duration sum_{0};
};

}  // namespace muster
