#pragma once

#include <chrono>

#include "base/time.h"
#include "core/log/position.h"

namespace muster::rlog {

/// The log time of one term of leadership (L8): it continues from the last entry, by the leader's
/// boot clock. The time between the previous term's last entry and begin() does not count, because
/// only a wall clock could measure it. Pure: the caller passes the time.
class LogClock {
 public:
  /// The term's first entry follows one at log time `last`. It is a millisecond later, so the two
  /// never share a label (see membership/calendar.h).
  LogClock(LogTime last, MonoTime now) : began_(last + std::chrono::milliseconds(1)), at_(now) {}

  [[nodiscard]] LogTime read(MonoTime now) const {
    return began_ + std::chrono::duration_cast<std::chrono::milliseconds>(now - at_);
  }

 private:
  LogTime began_;
  MonoTime at_;
};

}  // namespace muster::rlog
