#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/time.h"

namespace muster::cluster {

/// A server that has been silent for this long is absent. A few announcements long.
inline constexpr Duration kAbsentAfter = 10s;

/// Whether a server is present, as its leader knows.
enum class Presence {
  kUnknown,  ///< Not heard since the term began, a moment ago.
  kPresent,
  kAbsent,
};
/// `heard`: in this term.
[[nodiscard]] inline Presence presence(Duration silence, bool heard) {
  if (silence >= kAbsentAfter) return Presence::kAbsent;
  return heard ? Presence::kPresent : Presence::kUnknown;
}
/// "follower", "unreachable" or "unknown": the role of a server that does not lead.
[[nodiscard]] const char* role_of(Presence presence);

/// When the leader last heard each server, in its term. Pure: the caller passes the time.
class Reachability {
 public:
  /// A term began: an earlier term's observations are void.
  void begin(MonoTime now);
  void heard(const std::string& id, MonoTime now) { heard_[id] = now; }
  void forget(const std::string& id) { heard_.erase(id); }
  /// Counted from the beginning of the term for one that has not been heard in it.
  [[nodiscard]] Duration silence(const std::string& id, MonoTime now) const;
  [[nodiscard]] Presence presence(const std::string& id, MonoTime now) const {
    return cluster::presence(silence(id, now), heard_.contains(id));
  }

  /// Whether the leader should hand over: `others_at_work` other servers are up, as the engine
  /// shows, and none of them has reached it for `patience`, which is longer than the engine takes
  /// to notice a loss. A single server that was never heard proves nothing, because it would be as
  /// deaf: two servers would hand over to each other for ever.
  [[nodiscard]] bool deserted(std::size_t others_at_work, Duration patience, MonoTime now) const;

 private:
  MonoTime began_{};
  std::map<std::string, MonoTime> heard_;  ///< At most one for each announced server.
};

}  // namespace muster::cluster
