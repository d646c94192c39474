#pragma once

#include <string>
#include <vector>

#include "core/cluster/cluster_state.h"
#include "core/cluster/reachability.h"

namespace muster::cluster {

/// What the leader has to tell of the other servers: who is not heard any more, and who is back.
/// Each is told once, also by the next leader: what was told last is in the log of decisions. Pure.
[[nodiscard]] std::vector<Note> arrivals_and_departures(const ClusterState& state,
                                                        const Reachability& reachability,
                                                        const std::string& leader, MonoTime now);

}  // namespace muster::cluster
