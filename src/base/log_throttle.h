#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/log.h"
#include "base/time.h"

namespace muster {

/// Keeps a server in trouble from filling a disk: of lines with the same level and message, so
/// many pass in a window, and the first one of the next window says how many were left out.
/// Remembers as many messages as there are in the program: they are fixed texts. Pure; told the
/// time; one thread.
class LogThrottle {
 public:
  struct Options {
    std::size_t lines_max = 20;
    Duration window = 10s;
  };
  LogThrottle() : LogThrottle(Options{}) {}
  explicit LogThrottle(Options options) : options_(options) {}

  struct Verdict {
    bool pass = true;
    std::uint64_t left_out = 0;  ///< Since the last one that passed.
  };
  [[nodiscard]] Verdict judge(const LogLine& line, MonoTime now);
  /// In all.
  [[nodiscard]] std::uint64_t suppressed() const { return suppressed_; }

 private:
  struct Kind {
    MonoTime window_began{};
    std::size_t passed = 0;
    std::uint64_t left_out = 0;
  };
  Options options_;
  std::map<std::string, Kind> kinds_;
  std::uint64_t suppressed_ = 0;
};

}  // namespace muster
