#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/time.h"

namespace muster::cluster {

/// When the leader last heard each server, in its term. Pure: told the time; one thread.
class Attendance {
 public:
  /// A term began: what was heard in an earlier one says nothing.
  void begin(MonoTime now);
  void heard(const std::string& id, MonoTime now) { heard_[id] = now; }
  void forget(const std::string& id) { heard_.erase(id); }
  /// Counted from the beginning of the term for one that has not been heard in it.
  [[nodiscard]] Duration silence(const std::string& id, MonoTime now) const;

  /// Whether the leader is better off following: so many other servers are at work, as the engine
  /// shows, and none of them has reached it for `patience`, which is longer than the engine takes
  /// to notice that one is gone. One alone that was never heard proves nothing, for it would be as
  /// deaf: two servers would hand over to each other for ever.
  [[nodiscard]] bool deserted(std::size_t others_at_work, Duration patience, MonoTime now) const;

 private:
  MonoTime began_{};
  std::map<std::string, MonoTime> heard_;  ///< At most one for each server that announced itself.
};

/// Whoever has been silent for so long is not there. A few announcements long.
inline constexpr Duration kAbsentAfter = 10s;

}  // namespace muster::cluster
