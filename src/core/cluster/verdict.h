#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "core/cluster/reachability.h"

namespace muster::cluster {

/// A server's knowledge about its own health.
struct HealthSight {
  /// Why it refuses every certificate; empty if it does not.
  std::string refuses_all{};
  std::string waiting;         ///< Why it has no state yet; empty once it has.
  std::string engine;          ///< Which kind: "etcd", "managed" …
  std::string engine_trouble;  ///< The engine's own report of trouble; empty: none.
  Duration age{0};             ///< Since it last knew that nothing newer existed.
  bool leader_known = false;
  std::map<std::string, Presence> servers{};  ///< All of them, by id.
};

/// Whether a server is healthy, and why not. The same verdict is shown everywhere.
struct Verdict {
  bool healthy = false;
  /// One sentence. For a healthy server: what is missing nevertheless, or empty.
  std::string reason;
  bool operator==(const Verdict&) const = default;
};

/// A server that has not heard from its engine for this long is unhealthy.
inline constexpr Duration kOutOfTouch = 10s;

/// The reason of a verdict for a store that fails and says why: that, and what to do. A verdict is
/// shown to anybody, so paths and addresses are left out.
[[nodiscard]] std::string store_trouble(const std::string& engine, const std::string& said);

[[nodiscard]] Verdict judge(const HealthSight& sight);

}  // namespace muster::cluster
