#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "core/cluster/cluster_state.h"
#include "core/cluster/commands.h"

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
  /// shows, and none of them has reached it for kAbsentAfter. One alone that was never heard proves
  /// nothing, for it would be as deaf: two servers would hand over to each other for ever.
  [[nodiscard]] bool deserted(std::size_t others_at_work, MonoTime now) const;

 private:
  MonoTime began_{};
  std::map<std::string, MonoTime> heard_;  ///< At most one for each server that announced itself.
};

/// Whoever has been silent for so long is not there, and nothing waits for it: should it come back
/// too old for what was written meanwhile, it stops and says so. A few announcements long.
inline constexpr Duration kAbsentAfter = 10s;

/// Whether every server that is there understands commands of `level`; kUnsupported names one that
/// does not. The leader asks before it proposes one: so servers are upgraded one by one, and can be
/// taken back one by one, until the last one has been upgraded and something new was used.
[[nodiscard]] Status understood_by_all(std::uint64_t level,
                                       const std::map<std::string, ServerEntry>& servers,
                                       const Attendance& attendance, MonoTime now);

/// Whether a server has announced itself as just that.
[[nodiscard]] bool same(const ServerEntry& known, const AnnounceServer& said);

}  // namespace muster::cluster
