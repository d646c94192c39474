#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace muster::sim {

/// One number for many things in their order; equal when they are. FNV-1a: quick, and no adversary
/// is about.
class Summary {
 public:
  void add(std::string_view text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
    mix(0xff);
  }
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) mix(static_cast<unsigned char>(number >> (8 * i)));
  }
  void add(LogTime time) { add(static_cast<std::uint64_t>(to_ms(time))); }
  void add(WallTime time) { add(static_cast<std::uint64_t>(to_ms(time))); }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void mix(unsigned char byte) { value_ = (value_ ^ byte) * 1099511628211U; }
  std::uint64_t value_ = 14695981039346656037U;
};

}  // namespace muster::sim
