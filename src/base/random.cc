#include "base/random.h"

#include <cstddef>

#include "base/check.h"

namespace muster {

// SplitMix64: a full-period generator whose whole state is one word, so a seed replays exactly.
std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t Random::below(std::uint64_t bound) {
  MUSTER_CHECK(bound > 0);
  // Values past the last whole multiple of `bound` would favour small results.
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  std::uint64_t value = next();
  while (value >= limit) value = next();
  return value % bound;
}

Duration Random::between(Duration low, Duration high) {
  if (high <= low) return low;
  return low + Duration(static_cast<Duration::rep>(
                   below(static_cast<std::uint64_t>((high - low).count()) + 1)));
}

double Random::unit() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

std::string Random::uuid() {
  static constexpr char kHex[] = "0123456789abcdef";
  const std::uint64_t words[2] = {(next() & ~0xF000ULL) | 0x4000ULL,
                                  (next() & ~(0xC0ULL << 56)) | (0x80ULL << 56)};
  std::string text;
  text.reserve(36);
  for (std::size_t i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    text += kHex[(words[i / 16] >> (60 - 4 * (i % 16))) & 0xF];
  }
  return text;
}

}  // namespace muster
