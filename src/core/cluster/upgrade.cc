#include "core/cluster/upgrade.h"

#include <algorithm>

namespace muster::cluster {

void Attendance::begin(MonoTime now) {
  began_ = now;
  heard_.clear();
}

Duration Attendance::silence(const std::string& id, MonoTime now) const {
  const auto found = heard_.find(id);
  return now - (found == heard_.end() ? began_ : found->second);
}

bool Attendance::deserted(std::size_t others_at_work, MonoTime now) const {
  MonoTime last = began_;
  for (const auto& [id, time] : heard_) last = std::max(last, time);
  return now - last >= kAbsentAfter && others_at_work >= (heard_.empty() ? 2 : 1);
}

Status understood_by_all(std::uint64_t level, const std::map<std::string, ServerEntry>& servers,
                         const Attendance& attendance, MonoTime now) {
  // Every server there ever was understands the first level: nobody need be asked.
  if (level <= 1) return Done{};
  for (const auto& [id, server] : servers) {
    if (server.level >= level || attendance.silence(id, now) >= kAbsentAfter) continue;
    return {Errc::kUnsupported, "this needs commands of level " + std::to_string(level) +
                                    ", and the server " + id + " understands those up to level " +
                                    std::to_string(server.level) + "; upgrade it first"};
  }
  return Done{};
}

bool same(const ServerEntry& known, const AnnounceServer& said) {
  return known.address == said.address && known.version == said.version &&
         known.level == said.level;
}

}  // namespace muster::cluster
