#pragma once

#include <chrono>
#include <cstdint>

namespace muster {

using namespace std::chrono_literals;

using Duration = std::chrono::nanoseconds;

/// The time line of CLOCK_BOOTTIME: monotonic, counting suspend. It has no now(): a Clock provides
/// the time, so that tests and the simulator control it.
struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock, Duration>;
  static constexpr bool is_steady = true;
};

/// An instant on this machine's boot clock. Every deadline is one of these.
using MonoTime = BootClock::time_point;

/// An instant on the wall clock, in milliseconds. Only for people, formats and logs; no decision
/// about a lease compares two of them.
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

/// The time line of a log: for how long there has been a leader since the log began, as the
/// leaders' boot clocks measured it. No wall clock moves it, and it stands still without a leader.
/// It has no now(): the entries of the log carry it.
struct LogTimeline {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<LogTimeline, duration>;
  static constexpr bool is_steady = true;
};
using LogTime = LogTimeline::time_point;

[[nodiscard]] constexpr std::int64_t to_ms(Duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}
[[nodiscard]] constexpr std::int64_t to_ms(WallTime t) {
  return t.time_since_epoch().count();
}
[[nodiscard]] constexpr WallTime wall_from_ms(std::int64_t ms) {
  return WallTime(std::chrono::milliseconds(ms));
}
[[nodiscard]] constexpr std::int64_t to_ms(LogTime t) {
  return t.time_since_epoch().count();
}
[[nodiscard]] constexpr LogTime log_time_from_ms(std::int64_t ms) {
  return LogTime(std::chrono::milliseconds(ms));
}
/// `d` times a real factor, rounded towards zero.
[[nodiscard]] constexpr Duration scale(Duration d, double factor) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(d.count()) * factor));
}

/// The source of time for everything outside `core`.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual MonoTime now() const = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
};

}  // namespace muster
