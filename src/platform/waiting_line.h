#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace muster::files {

/// A WaitingLine gives processes that wait for a lock their turn in the order in which they came.
/// The lock itself, which the caller asks for, keeps no order: a holder that unlocks and locks
/// again at once would win against everybody who polls.
///
/// A waiting process locks one byte of a file that all share, at the offset of its arrival by
/// CLOCK_BOOTTIME, and asks for the lock only while no byte before its own is locked. The kernel
/// frees the byte of a process that dies, so a killed one blocks no other. One that is stopped
/// (SIGSTOP) while it waits is overtaken after kPatience, and then ignored for kOvertaken.
///
/// The line is a courtesy, and the lock alone excludes: whatever fails here costs fairness and no
/// more, and a process that does not know the line takes the lock without it. One thread.
class WaitingLine {
 public:
  static constexpr Duration kPatience = 100ms;
  static constexpr Duration kOvertaken = 1s;

  /// Locks bytes of the open file `fd`, whose content does not matter. Requires: no other
  /// descriptor of this line's shares its open file.
  explicit WaitingLine(int fd) : fd_(fd) {}

  /// True when it is the caller's turn to ask for the lock. False: others came before, and the
  /// caller now stands in line behind them.
  [[nodiscard]] bool may_ask(MonoTime now);
  /// The lock that was asked for is held by another.
  void was_refused(MonoTime now);
  /// The lock that was asked for was given.
  void was_served(MonoTime now);
  /// The caller does not wait any more.
  void leave();

 private:
  void join(MonoTime now);
  [[nodiscard]] bool somebody_before(MonoTime now) const;

  const int fd_;
  std::optional<std::uint64_t> place_;
  MonoTime patient_since_{};
  bool overtakes_ = false;       ///< A process ahead does not use its turn.
  std::uint64_t overtaken_ = 0;  ///< Places up to this one are ignored …
  MonoTime overtaken_until_{};   ///< … until then.
};

}  // namespace muster::files
