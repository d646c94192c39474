#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/log.h"
#include "base/time.h"

namespace muster {

/// Keeps a server in trouble from filling a disk. Of lines with the same level and message, a
/// limited number pass in a window; the first line of the next window says how many were omitted.
/// Memory is bounded because messages are fixed texts. Pure: the caller passes the time. Threads:
/// one.
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
    std::uint64_t left_out = 0;  ///< Since the last line that passed.
  };
  [[nodiscard]] Verdict judge(const LogLine& line, MonoTime now);
  /// All omitted lines so far.
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
