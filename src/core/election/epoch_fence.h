#pragma once

#include <cstdint>
#include <optional>

#include "base/strong.h"
#include "base/time.h"

namespace muster {

enum class EpochVerdict {
  kAccepted,
  kAcceptedLate,  ///< By grace: worth a warning.
  kRejected,      ///< From a leader that has been replaced.
};

[[nodiscard]] const char* to_string(EpochVerdict verdict);

struct EpochFenceOptions {
  bool enabled = true;
  Duration grace = 5s;  ///< Zero: no grace at all.
  bool operator==(const EpochFenceOptions&) const = default;
};

/// What a dispatcher stamps on a task.
struct TaskStamp {
  Epoch epoch;
  WallTime created_at;  ///< By the dispatcher's clock.
};

/// Keeps a worker from running tasks of a leader that has been replaced. A task below the last
/// known epoch is rejected and counted; one above raises it. For `grace` after the epoch was seen
/// to rise, a task of exactly the epoch before is still accepted if it was created within `grace`
/// of now, so that a hand-over loses no work in flight. The first epoch a fence learns opens no
/// grace: it saw no change.
///
/// Not guaranteed: exclusion. A graced task may run beside the new leader's, `created_at` is a
/// claim of another clock, and epochs are believed as stamped. What must never be written by a
/// replaced leader takes an EpochGuard. Disabled, the fence accepts everything and neither counts
/// nor learns. Pure; one thread.
class EpochFence {
 public:
  explicit EpochFence(EpochFenceOptions options = {}) : options_(options) {}

  /// Leadership is at `epoch`, by what the coordinator says. Lower ones are ignored.
  void learn(Epoch epoch, MonoTime now);

  /// May this task run? `now` and `wall_now` are the same moment on this worker's two clocks.
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

/// Stands before a resource and admits a write only if no higher epoch has written before. No
/// grace, no clock, no way to switch it off. The resource must keep highest() as durably as the
/// data it guards, and hand it in again at start. Pure; one thread.
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
