#pragma once

#include <cstdint>
#include <optional>

#include "base/strong.h"
#include "base/time.h"

namespace muster {

enum class EpochVerdict {
  kAccepted,
  kAcceptedLate,  ///< In the grace period: logged as a warning.
  kRejected,      ///< From a replaced leader.
};

[[nodiscard]] const char* to_string(EpochVerdict verdict);

struct EpochFenceOptions {
  bool enabled = true;
  Duration grace = 5s;  ///< Zero: no grace at all.
  bool operator==(const EpochFenceOptions&) const = default;
};

/// The dispatcher's stamp on a task.
struct TaskStamp {
  Epoch epoch;
  WallTime created_at;  ///< By the dispatcher's clock.
};

/// Keeps a worker from running tasks of a replaced leader. A task below the last known epoch is
/// rejected and counted; a task above it raises the epoch. For `grace` after the epoch was seen to
/// rise, a task of exactly the previous epoch is still accepted if it was created within `grace` of
/// now, so that a hand-over loses no work in flight. The first epoch that a fence learns opens no
/// grace period, because it is not a change.
///
/// Not guaranteed: exclusion. A task in the grace period may run beside the new leader's,
/// `created_at` comes from another clock, and stamped epochs are believed. Use an EpochGuard for
/// writes that a replaced leader must never make. A disabled fence accepts everything and neither
/// counts nor learns. Pure. Threads: one.
class EpochFence {
 public:
  explicit EpochFence(EpochFenceOptions options = {}) : options_(options) {}

  /// The coordinator reports `epoch` as the current one. Lower ones are ignored.
  void learn(Epoch epoch, MonoTime now);

  /// Whether the task may run. `now` and `wall_now` are one moment on this worker's two clocks.
  [[nodiscard]] EpochVerdict check(const TaskStamp& task, MonoTime now, WallTime wall_now);

  [[nodiscard]] Epoch last_known() const { return last_known_; }
  /// The `epochDriftEvents` metric: tasks rejected.
  [[nodiscard]] std::uint64_t drift_events() const { return drift_events_; }
  [[nodiscard]] std::uint64_t accepted_late() const { return accepted_late_; }

 private:
  [[nodiscard]] bool graced(const TaskStamp& task, MonoTime now, WallTime wall_now) const;

  EpochFenceOptions options_;
  Epoch last_known_;
  std::optional<MonoTime> changed_at_;
  std::uint64_t drift_events_ = 0;
  std::uint64_t accepted_late_ = 0;
};

/// Protects a resource: admits a write only if no higher epoch has written before. It has no grace
/// period, no clock, and cannot be switched off. The resource must store highest() as durably as
/// its data, and pass it in at start. Pure. Threads: one.
class EpochGuard {
 public:
  explicit EpochGuard(Epoch highest = Epoch{}) : highest_(highest) {}

  [[nodiscard]] bool admit(Epoch epoch);

  [[nodiscard]] Epoch highest() const { return highest_; }
  [[nodiscard]] std::uint64_t rejected() const { return rejected_; }

 private:
  Epoch highest_;
  std::uint64_t rejected_ = 0;
};

}  // namespace muster
