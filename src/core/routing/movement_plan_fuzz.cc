#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "core/membership/validation.h"
#include "core/routing/movement_plan.h"

namespace {

using namespace muster;

/// "id weight", one a line, as far as a node may be registered so.
std::vector<RingMember> members_in(std::string_view text, std::uint32_t virtual_nodes) {
  std::vector<RingMember> members;
  std::set<std::string> ids;
  std::uint64_t places = 0;
  for (const std::string_view line : split(text, '\n')) {
    const auto space = line.find(' ');
    const std::string id(line.substr(0, space));
    const auto weight =
        space == std::string_view::npos ? 1 : parse_unsigned(line.substr(space + 1)).value_or(0);
    if (!membership::validate_node_id(id) || weight > 1000 || !ids.insert(id).second) continue;
    places += weight * virtual_nodes;
    if (places > 20'000) break;  // Speed: nothing new comes of more.
    members.push_back({NodeId(id), static_cast<std::uint32_t>(weight)});
  }
  return members;
}

}  // namespace

// Two bytes of configuration, then the members before, a line "-", and those after. Whatever may be
// registered can be planned: shares are shares, and what some nodes lose others gain.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const RingConfig config{1U + data[0], 1U + data[1] % 64};
  const std::string_view text(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::size_t cut = text.find("\n-\n");
  const HashRing before(members_in(text.substr(0, cut), config.virtual_nodes), config);
  const HashRing after(
      members_in(cut == std::string_view::npos ? text : text.substr(cut + 3), config.virtual_nodes),
      config);
  const MovementPlan plan = movement_plan(before, after);
  MUSTER_CHECK(plan.primary_moved <= kWholeKeySpace);
  MUSTER_CHECK(plan.copies_moved <= kWholeKeySpace * config.replication);
  KeyShare gained = 0, lost = 0, copied = 0;
  for (const NodeMovement& node : plan.nodes) {
    gained += node.primary_gained;
    lost += node.primary_lost;
    copied += node.copies_gained;
  }
  MUSTER_CHECK(copied == plan.copies_moved);
  const bool full_before = !before.members().empty() && before.lookup("").members.size() > 0;
  const bool full_after = !after.members().empty() && after.lookup("").members.size() > 0;
  if (full_before && full_after) MUSTER_CHECK(gained == lost && gained == plan.primary_moved);
  MUSTER_CHECK(movement_plan(before, before).copies_moved == 0);
  return 0;
}
