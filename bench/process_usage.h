#pragma once

#include <sys/types.h>

#include "base/time.h"

namespace muster::bench {

/// User and system time of a process so far, all its threads together.
[[nodiscard]] Duration cpu_of(pid_t pid);
/// What it holds in memory now, in bytes.
[[nodiscard]] double rss_of(pid_t pid);

/// CPU time between two moments, of one process.
class CpuMeter {
 public:
  explicit CpuMeter(pid_t pid) : pid_(pid), before_(cpu_of(pid)) {}
  [[nodiscard]] Duration used() const { return cpu_of(pid_) - before_; }
  [[nodiscard]] double used_us() const {
    return std::chrono::duration<double, std::micro>(used()).count();
  }

 private:
  pid_t pid_;
  Duration before_;
};

}  // namespace muster::bench
