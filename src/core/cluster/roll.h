#pragma once

#include <string>
#include <vector>

#include "core/cluster/cluster_state.h"
#include "core/cluster/reachability.h"

namespace muster::cluster {

/// The leader's notes about servers that are no longer heard, and those that are back. Each is
/// reported once, also by the next leader: the log of decisions has the last report. Pure.
[[nodiscard]] std::vector<Note> arrivals_and_departures(const ClusterState& state,
                                                        const Reachability& reachability,
                                                        const std::string& leader, MonoTime now);

}  // namespace muster::cluster
