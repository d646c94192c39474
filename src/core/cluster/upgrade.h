#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "core/cluster/cluster_state.h"
#include "core/cluster/commands.h"
#include "core/cluster/reachability.h"

namespace muster::cluster {

/// Whether every present server supports commands of `level`; kUnsupported names one that does not.
/// The leader checks this before it proposes one. So servers can be upgraded, and rolled back, one
/// by one, until the last one has been upgraded and a new feature was used. An absent server is not
/// waited for: if it comes back too old for what was written in the meantime, it stops and reports
/// that.
[[nodiscard]] Status understood_by_all(std::uint64_t level,
                                       const std::map<std::string, ServerEntry>& servers,
                                       const Reachability& reachability, MonoTime now);

/// Whether a server has announced exactly this.
[[nodiscard]] bool same(const ServerEntry& known, const AnnounceServer& said);

}  // namespace muster::cluster
