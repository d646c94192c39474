#include "core/cluster/upgrade.h"

namespace muster::cluster {

Status understood_by_all(std::uint64_t level, const std::map<std::string, ServerEntry>& servers,
                         const Reachability& reachability, MonoTime now) {
  // Every server there ever was understands the first level: nobody need be asked.
  if (level <= 1) return Done{};
  for (const auto& [id, server] : servers) {
    if (server.level >= level || reachability.silence(id, now) >= kAbsentAfter) continue;
    return {Errc::kUnsupported, "this request needs commands of level " + std::to_string(level) +
                                    ", and the server " + id + " supports only those up to level " +
                                    std::to_string(server.level) + "; upgrade it first"};
  }
  return Done{};
}

bool same(const ServerEntry& known, const AnnounceServer& said) {
  return known.address == said.address && known.version == said.version &&
         known.level == said.level;
}

}  // namespace muster::cluster
