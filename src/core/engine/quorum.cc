#include "core/engine/quorum.h"

#include <cstddef>
#include <vector>

namespace muster::engine {
namespace {

/// "s2", "s2 or s3", "2 of s2, s3, s4".
std::string any(std::size_t count, const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    list += (i == 0 ? "" : count == 1 && last ? " or " : ", ") + names[i];
  }
  if (count == 1 || count == names.size()) return list;
  return std::to_string(count) + " of " + list;
}

}  // namespace

std::string quorum_words(const std::map<std::string, bool>& up) {
  std::vector<std::string> down;
  for (const auto& [name, answers] : up) {
    if (!answers) down.push_back(name);
  }
  const std::size_t alive = up.size() - down.size();
  const std::size_t majority = up.size() / 2 + 1;
  const std::string count =
      std::to_string(alive) + " of " + std::to_string(up.size()) + " servers up";
  if (alive >= majority) return count + "; the engine elects a leader";
  return "no quorum: " + count + "; start " + any(majority - alive, down);
}

}  // namespace muster::engine
