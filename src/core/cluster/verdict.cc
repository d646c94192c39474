#include "core/cluster/verdict.h"

#include <cstddef>
#include <string_view>

#include "base/text.h"

namespace muster::cluster {
namespace {

/// What is wrong with the engine, or `otherwise`.
Verdict ill(const HealthSight& sight, const std::string& otherwise) {
  return {false, sight.engine_trouble.empty() ? otherwise : sight.engine_trouble};
}

/// A word that is a path, a URL or an address with a port.
bool is_place(std::string_view word) {
  if (word.find('/') != word.npos) return true;
  const std::size_t colon = word.find(':');
  return colon != word.npos && colon + 1 < word.size() && word[colon + 1] >= '0' &&
         word[colon + 1] <= '9';
}

std::string without_places(const std::string& text) {
  std::string kept;
  for (const std::string_view word : split(text, ' ')) {
    if (!kept.empty()) kept += ' ';
    if (!is_place(word)) {
      kept += word;
      continue;
    }
    const std::size_t last = word.find_last_not_of(":;,.)");
    kept += "…";
    kept += word.substr(last == word.npos ? word.size() : last + 1);
  }
  return kept;
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

std::string store_trouble(const std::string& engine, const std::string& said) {
  const bool full = said.find("no space left") != std::string::npos;
  return "the engine (" + engine + ") fails: " + without_places(said) + "; " +
         (full ? "free some space there" : "see the log of this server");
}

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
