#pragma once

#include "base/random.h"
#include "base/time.h"

namespace muster {

/// CLOCK_BOOTTIME: monotonic, and counting suspend.
[[nodiscard]] MonoTime boot_now();
[[nodiscard]] WallTime system_wall_now();
/// A generator seeded by the kernel.
[[nodiscard]] Random system_random();
/// Blocks this thread; for programs and tests, never on a loop.
void sleep_for(Duration d);

/// The real clocks as a Clock.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] MonoTime now() const override { return boot_now(); }
  [[nodiscard]] WallTime wall_now() const override { return system_wall_now(); }
};

}  // namespace muster
