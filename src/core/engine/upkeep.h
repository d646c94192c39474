#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/engine/members.h"

namespace muster::engine {

/// A member's report of itself.
struct Vitals {
  std::uint64_t member_id = 0;
  std::uint64_t leader_id = 0;  ///< 0 without a leader.
  bool learner = false;
  std::int64_t revision = 0;
  std::uint64_t file_bytes = 0;  ///< The quota limits this.
  std::uint64_t used_bytes = 0;  ///< The part of it that is not free space within the file.
  std::string version{};
};

struct UpkeepSight {
  Vitals vitals;
  Members members;
  std::set<std::uint64_t> full;  ///< Members whose NOSPACE alarm is raised.
  bool corrupt = false;          ///< A member's CORRUPT alarm is raised.
  std::uint64_t quota_bytes = 0;
  std::int64_t compacted = 0;  ///< The last revision compacted by this server.
  bool rested = true;          ///< The last defragmentation, if any, was some time ago.
  bool tried = false;          ///< There was one since the alarm was raised.
};

/// The actions now; check again afterwards.
struct UpkeepPlan {
  std::vector<std::uint64_t> promote{};   ///< Learners that may have caught up.
  std::optional<std::int64_t> compact{};  ///< Drop the history up to here.
  bool defragment = false;                ///< Return free space within the file.
  std::vector<std::uint64_t> disarm{};    ///< Members whose NOSPACE alarm is over.
  bool overfull = false;                  ///< Only a larger quota or fewer objects help.
};

/// Decides the maintenance of one member. The leading member does what concerns the cluster; each
/// member maintains its own file. A defragmentation stops a member for its duration, so a leader
/// avoids it unless there is no choice.
[[nodiscard]] UpkeepPlan plan_upkeep(const UpkeepSight& sight);

}  // namespace muster::engine
