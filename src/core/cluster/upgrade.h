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

/// Whether every server that is there understands commands of `level`; kUnsupported names one that
/// does not. The leader asks before it proposes one: so servers are upgraded one by one, and can be
/// taken back one by one, until the last one has been upgraded and something new was used. Nothing
/// waits for one that is not there: should it come back too old for what was written meanwhile, it
/// stops and says so.
[[nodiscard]] Status understood_by_all(std::uint64_t level,
                                       const std::map<std::string, ServerEntry>& servers,
                                       const Reachability& reachability, MonoTime now);

/// Whether a server has announced itself as just that.
[[nodiscard]] bool same(const ServerEntry& known, const AnnounceServer& said);

}  // namespace muster::cluster
