#include "core/engine/upkeep.h"

#include <algorithm>

namespace muster::engine {
namespace {

/// Watchers that were away for a moment find the changes of this many writes.
constexpr std::int64_t kHistoryKept = 1000;
/// A file that is smaller is not worth a pause.
constexpr std::uint64_t kWorthDefragmenting = std::uint64_t{64} << 20;

/// Below this the alarm is over; the rest is room until the next look.
std::uint64_t relief(std::uint64_t quota) {
  return quota - quota / 5;
}

}  // namespace

UpkeepPlan plan_upkeep(const UpkeepSight& sight) {
  UpkeepPlan plan;
  const Vitals& self = sight.vitals;
  if (self.leader_id == 0 || self.learner) return plan;
  const bool leads = self.leader_id == self.member_id;
  const bool alarm = !sight.full.empty();

  if (leads) {
    for (const Member& member : sight.members) {
      if (member.learner && !member.name.empty()) plan.promote.push_back(member.id);
    }
    const std::int64_t keep_from = self.revision - (alarm ? 0 : kHistoryKept);
    const bool large = self.file_bytes > sight.quota_bytes / 2;
    if ((alarm && keep_from > sight.compacted) ||
        (large && keep_from > sight.compacted + kHistoryKept)) {
      plan.compact = keep_from;
    }
    for (const std::uint64_t id : sight.full) {
      if (find_id(sight.members, id) == nullptr) plan.disarm.push_back(id);
    }
  }
  // First the compaction shows, then the file shrinks, then the alarm ends: one look each.
  if (plan.compact) return plan;

  const std::uint64_t limit = relief(sight.quota_bytes);
  const auto votes = std::count_if(sight.members.begin(), sight.members.end(),
                                   [](const Member& each) { return !each.learner; });
  if (alarm && self.file_bytes > limit) {
    // What is used cannot be told now: what a compaction frees is counted as free only after the
    // next writes, and there are none.
    plan.defragment = sight.rested;
    plan.overfull = sight.tried;
  } else if (self.file_bytes > std::min(kWorthDefragmenting, sight.quota_bytes / 4) &&
             self.used_bytes < self.file_bytes / 2) {
    plan.defragment = sight.rested && (!leads || votes == 1);
  }
  if (sight.full.contains(self.member_id) && self.file_bytes <= limit) {
    plan.disarm.push_back(self.member_id);
  }
  return plan;
}

}  // namespace muster::engine
