#pragma once

#include <cstdint>
#include <string>

#include "base/mutex.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/election/epoch_fence.h"
#include "elector/lease_guard.h"

namespace muster {

/// Leader-only work that shares a coordinator with other plugins. Derive, override, subscribe.
///
/// The three callbacks come from one thread, one at a time. For every term of this process,
/// on_become_coordinator is called at most once and, if it was, on_stop_being_coordinator exactly
/// once after it, on every path: release, expiry, replacement, unsubscription, shutdown. A plugin
/// that subscribes during a term is told about it. Exceptions are reported and go no further. A
/// callback that hangs delays the other callbacks, never the heartbeat, and is reported.
///
/// A clean stop or a hand-over waits for the callback under way and then releases the lease. Long
/// work must check `guard.stopping()` before each step, and return when it is true.
///
/// Not guaranteed: that on_stop_being_coordinator runs before another worker leads. Work with
/// external effects must check its LeaseGuard first, and stamp the guard's epoch on each effect.
class CoordinatorPlugin {
 public:
  virtual ~CoordinatorPlugin() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  /// The guard is valid for this term only and lives until on_stop_being_coordinator returns.
  virtual void on_become_coordinator(const LeaseGuard& /*guard*/) {}
  virtual void on_stop_being_coordinator() {}
  /// Called every work_interval() while leading, the first time right after the term began.
  virtual void coordinator_work(const LeaseGuard& /*guard*/) {}
  [[nodiscard]] virtual Duration work_interval() const { return 5s; }

  /// Whether a task with this epoch may run. False, and counted, if it comes from a replaced
  /// leader. No grace. Any thread.
  [[nodiscard]] bool validate_epoch(Epoch task) MUSTER_EXCLUDES(mutex_);
  /// Like validate_epoch, but for the grace period after a change it also accepts, with a warning,
  /// a task of the previous epoch that was created within that period. Any thread.
  [[nodiscard]] bool is_epoch_valid(Epoch task, WallTime created_at) MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] Epoch last_known_epoch() const MUSTER_EXCLUDES(mutex_);
  /// A fence at a resource (a total, a board, a FencedStore) refused this process because of a
  /// higher epoch: counts like a refusal by this plugin's own fence. Any thread.
  void count_epoch_drift() MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] std::uint64_t epoch_drift_events() const MUSTER_EXCLUDES(mutex_);

  /// For the coordinator: sets how tasks are fenced, and reports every epoch that it learns.
  void attach(const Clock& clock, EpochFenceOptions options) MUSTER_EXCLUDES(mutex_);
  void learn_epoch(Epoch epoch) MUSTER_EXCLUDES(mutex_);

 private:
  [[nodiscard]] bool check(Epoch task, WallTime created_at) MUSTER_REQUIRES(mutex_);

  mutable Mutex mutex_;
  const Clock* clock_ MUSTER_GUARDED_BY(mutex_) = nullptr;
  EpochFence fence_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t refused_elsewhere_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster
