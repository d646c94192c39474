#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/engine/members.h"

namespace muster::engine {

/// What a member says of itself.
struct Vitals {
  std::uint64_t member_id = 0;
  std::uint64_t leader_id = 0;  ///< 0 without a leader.
  bool learner = false;
  std::int64_t revision = 0;
  std::uint64_t file_bytes = 0;  ///< The quota is about this.
  std::uint64_t used_bytes = 0;  ///< What of it is not free space within the file.
  std::string version{};
};

struct UpkeepSight {
  Vitals vitals;
  Members members;
  std::set<std::uint64_t> full;  ///< Members whose NOSPACE alarm is raised.
  bool corrupt = false;          ///< Some member's CORRUPT alarm is raised.
  std::uint64_t quota_bytes = 0;
  std::int64_t compacted = 0;  ///< The last revision that was compacted from here.
  bool rested = true;          ///< The last defragmentation was some time ago, if there was one.
  bool tried = false;          ///< There was one since the alarm was raised.
};

/// What to do now; look again afterwards.
struct UpkeepPlan {
  std::vector<std::uint64_t> promote{};   ///< Learners that may have caught up.
  std::optional<std::int64_t> compact{};  ///< Forget the history up to here.
  bool defragment = false;                ///< Give free space within the file back.
  std::vector<std::uint64_t> disarm{};    ///< Members whose NOSPACE alarm is over.
  bool overfull = false;                  ///< Nothing helps but a larger quota or fewer objects.
};

/// Decides on the chores of one member. What concerns the cluster is left to the member that leads
/// it; each sees to its own file. A defragmentation stops a member for its duration, so that a
/// leader does without unless there is no choice.
[[nodiscard]] UpkeepPlan plan_upkeep(const UpkeepSight& sight);

}  // namespace muster::engine
