#pragma once

#include <chrono>

#include "base/time.h"
#include "core/log/position.h"

namespace muster::rlog {

/// The log time of one term of leadership (L8): it goes on from the last entry, by the leader's
/// boot clock. What passed between the last entry of the term before and begin() does not count,
/// because nobody can tell how long that was without trusting a wall clock. Pure: told the time.
class LogClock {
 public:
  /// The term's first entry follows one at log time `last`. It is a millisecond later, so that the
  /// two never share a label (see membership/calendar.h).
  LogClock(LogTime last, MonoTime now) : began_(last + std::chrono::milliseconds(1)), at_(now) {}

  [[nodiscard]] LogTime read(MonoTime now) const {
    return began_ + std::chrono::duration_cast<std::chrono::milliseconds>(now - at_);
  }

 private:
  LogTime began_;
  MonoTime at_;
};

}  // namespace muster::rlog
