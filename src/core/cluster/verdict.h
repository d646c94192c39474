#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "core/cluster/reachability.h"

namespace muster::cluster {

/// What a server knows about itself when it is asked how it is.
struct HealthSight {
  std::string waiting;         ///< Why it has no state yet; empty once it has.
  std::string engine;          ///< Which kind: "etcd", "managed" …
  std::string engine_trouble;  ///< What the engine itself says is wrong; empty: nothing.
  Duration age{0};             ///< Since it last knew that nothing newer existed.
  bool leader_known = false;
  std::map<std::string, Presence> servers{};  ///< All of them, by id.
};

/// Whether a server can be relied on, and why not. One answer for every place that shows it.
struct Verdict {
  bool healthy = false;
  /// One sentence. When healthy: what is missing all the same, or empty.
  std::string reason;
  bool operator==(const Verdict&) const = default;
};

/// A server that has not heard from its engine for so long is not to be relied on.
inline constexpr Duration kOutOfTouch = 10s;

[[nodiscard]] Verdict judge(const HealthSight& sight);

}  // namespace muster::cluster
