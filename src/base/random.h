#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace muster {

/// The only source of randomness. Real processes seed it from the kernel, simulations from a
/// number. Not for secrets. Threads: one.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t next();
  /// Uniform in [0, bound); `bound` must not be 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  /// Uniform in [low, high]; `low` when the range is empty.
  [[nodiscard]] Duration between(Duration low, Duration high);
  /// Uniform in [0, 1).
  [[nodiscard]] double unit();
  /// True with the given probability.
  [[nodiscard]] bool chance(double probability) { return unit() < probability; }
  /// A version 4 UUID in its usual form.
  [[nodiscard]] std::string uuid();

 private:
  std::uint64_t state_;
};

}  // namespace muster
