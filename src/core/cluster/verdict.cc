#include "core/cluster/verdict.h"

#include <cstddef>

#include "base/text.h"

namespace muster::cluster {
namespace {

/// What is wrong with the engine, or `otherwise`.
Verdict ill(const HealthSight& sight, const std::string& otherwise) {
  return {false, sight.engine_trouble.empty() ? otherwise : sight.engine_trouble};
}

/// "2 of 3 servers up; start s3"; empty when nobody is known to be missing.
std::string missing(const std::map<std::string, Presence>& servers) {
  std::string gone;
  std::size_t up = servers.size();
  for (const auto& [id, presence] : servers) {
    if (presence != Presence::kAbsent) continue;
    gone += (gone.empty() ? "" : ", ") + id;
    --up;
  }
  if (gone.empty()) return {};
  return std::to_string(up) + " of " + std::to_string(servers.size()) + " servers up; start " +
         gone + ", or remove servers that are gone for good";
}

}  // namespace

Verdict judge(const HealthSight& sight) {
  if (!sight.refuses_all.empty()) {
    return {false, "every certificate is refused: " + sight.refuses_all};
  }
  if (!sight.waiting.empty()) return ill(sight, sight.waiting);
  if (sight.age > kOutOfTouch) {
    return ill(sight, "the engine (" + sight.engine + ") has not answered for " +
                          format_duration(std::chrono::floor<std::chrono::seconds>(sight.age)));
  }
  if (!sight.leader_known) return ill(sight, "no server leads; an election is under way");
  return {true, missing(sight.servers)};
}

}  // namespace muster::cluster
