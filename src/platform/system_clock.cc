#include "platform/system_clock.h"

#include <sys/random.h>
#include <time.h>

#include <cstdint>
#include <thread>

#include "base/check.h"

namespace muster {

MonoTime boot_now() {
  timespec ts{};
  MUSTER_CHECK(::clock_gettime(CLOCK_BOOTTIME, &ts) == 0);
  return MonoTime(std::chrono::seconds(ts.tv_sec) + std::chrono::nanoseconds(ts.tv_nsec));
}

WallTime system_wall_now() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

Random system_random() {
  std::uint64_t seed = 0;
  MUSTER_CHECK(::getrandom(&seed, sizeof seed, 0) == sizeof seed);
  return Random(seed);
}

void sleep_for(Duration d) {
  std::this_thread::sleep_for(d);
}

}  // namespace muster
