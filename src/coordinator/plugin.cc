#include "coordinator/plugin.h"

#include "base/check.h"
#include "base/log.h"

namespace muster {

void CoordinatorPlugin::attach(const Clock& clock, EpochFenceOptions options) {
  MutexLock lock(mutex_);
  clock_ = &clock;
  fence_ = EpochFence(options);
}

void CoordinatorPlugin::learn_epoch(Epoch epoch) {
  MutexLock lock(mutex_);
  if (clock_) fence_.learn(epoch, clock_->now());
}

bool CoordinatorPlugin::check(Epoch task, WallTime created_at) {
  MUSTER_CHECK(clock_ != nullptr);  // A plugin checks tasks only after it was subscribed.
  const Epoch known = fence_.last_known();
  const EpochVerdict verdict = fence_.check({task, created_at}, clock_->now(), clock_->wall_now());
  if (verdict == EpochVerdict::kAccepted) return true;
  log_warn(verdict == EpochVerdict::kRejected ? "rejecting a task of a replaced leader"
                                              : "accepting a late task of the previous leader",
           {{"plugin", name()},
            {"task_epoch", std::to_string(task.value())},
            {"epoch", std::to_string(known.value())}});
  return verdict == EpochVerdict::kAcceptedLate;
}

bool CoordinatorPlugin::validate_epoch(Epoch task) {
  MutexLock lock(mutex_);
  // Created before any grace could cover it.
  return check(task, WallTime::min());
}

bool CoordinatorPlugin::is_epoch_valid(Epoch task, WallTime created_at) {
  MutexLock lock(mutex_);
  return check(task, created_at);
}

Epoch CoordinatorPlugin::last_known_epoch() const {
  MutexLock lock(mutex_);
  return fence_.last_known();
}

void CoordinatorPlugin::count_epoch_drift() {
  MutexLock lock(mutex_);
  ++refused_elsewhere_;
}

std::uint64_t CoordinatorPlugin::epoch_drift_events() const {
  MutexLock lock(mutex_);
  return fence_.drift_events() + refused_elsewhere_;
}

}  // namespace muster
