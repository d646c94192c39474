#pragma once

#include <cstdint>
#include <string>

#include "base/mutex.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/election/epoch_fence.h"
#include "elector/lease_guard.h"

namespace muster {

/// Leader-only work that shares a coordinator with others. Derive, override, subscribe.
///
/// The three callbacks come from one thread, one at a time. For every term of this process
/// on_become_coordinator is called at most once and, if it was, on_stop_being_coordinator exactly
/// once after it, on every path: release, expiry, replacement, unsubscription, shutdown. A plugin
/// that subscribes during a term is told of it. What they throw is reported and goes no further;
/// one that hangs holds up the other callbacks, is reported, and never the heartbeat.
///
/// A clean stop or a hand-over waits for the callback under way and then releases the lease: work
/// that takes long asks `guard.stopping()` before each step, and returns when it is true.
///
/// Not guaranteed: that on_stop_being_coordinator runs before another worker leads. Work that
/// touches anything outside asks its LeaseGuard before, and stamps the guard's epoch on it.
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

  /// May a task with this epoch run? False and counted when it comes from a replaced leader. No
  /// grace. Any thread.
  [[nodiscard]] bool validate_epoch(Epoch task) MUSTER_EXCLUDES(mutex_);
  /// As validate_epoch, but a task of the epoch just before, created within the grace period, is
  /// accepted for that period after a change, with a warning. Any thread.
  [[nodiscard]] bool is_epoch_valid(Epoch task, WallTime created_at) MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] Epoch last_known_epoch() const MUSTER_EXCLUDES(mutex_);
  /// A fence at a resource (a total, a board, a FencedStore) refused this process because a higher
  /// epoch was there: counted as a refusal of this plugin's own fence is. Any thread.
  void count_epoch_drift() MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] std::uint64_t epoch_drift_events() const MUSTER_EXCLUDES(mutex_);

  /// The coordinator's part: how tasks are fenced, and every epoch it learns of.
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
