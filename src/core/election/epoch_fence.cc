#include "core/election/epoch_fence.h"

namespace muster {

const char* to_string(EpochVerdict verdict) {
  switch (verdict) {
    case EpochVerdict::kAccepted:
      return "accepted";
    case EpochVerdict::kAcceptedLate:
      return "accepted-late";
    case EpochVerdict::kRejected:
      return "rejected";
  }
  return "unknown";
}

void EpochFence::learn(Epoch epoch, MonoTime now) {
  if (!options_.enabled || epoch <= last_known_) return;
  if (last_known_ != Epoch{}) changed_at_ = now;
  last_known_ = epoch;
}

EpochVerdict EpochFence::check(const TaskStamp& task, MonoTime now, WallTime wall_now) {
  if (!options_.enabled) return EpochVerdict::kAccepted;
  if (task.epoch >= last_known_) {
    learn(task.epoch, now);
    return EpochVerdict::kAccepted;
  }
  if (graced(task, now, wall_now)) {
    ++accepted_late_;
    return EpochVerdict::kAcceptedLate;
  }
  ++drift_events_;
  return EpochVerdict::kRejected;
}

bool EpochFence::graced(const TaskStamp& task, MonoTime now, WallTime wall_now) const {
  if (next(task.epoch) != last_known_) return false;
  if (!changed_at_ || now - *changed_at_ >= options_.grace) return false;
  // `created_at` came over the wire and may be any number: it is compared as it is, in its own
  // unit, because subtracting from it or refining it could overflow.
  const auto grace = std::chrono::floor<std::chrono::milliseconds>(options_.grace);
  return task.created_at > wall_now - grace && task.created_at <= wall_now + grace;
}

bool EpochGuard::admit(Epoch epoch) {
  if (epoch < highest_) {
    ++rejected_;
    return false;
  }
  highest_ = epoch;
  return true;
}

}  // namespace muster
