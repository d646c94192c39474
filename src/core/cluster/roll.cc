#include "core/cluster/roll.h"

#include "base/text.h"

namespace muster::cluster {
namespace {

bool told_to_be_gone(const DecisionLog& decisions, const std::string& server) {
  bool gone = false;
  // A node may have the same name.
  for (const DecisionLog::Entry& each : decisions.about(server)) {
    if (each->kind == DecisionKind::kServer) gone = each->why == Why::kSilence;
  }
  return gone;
}

}  // namespace

std::vector<Note> arrivals_and_departures(const ClusterState& state,
                                          const Reachability& reachability,
                                          const std::string& leader, MonoTime now) {
  std::vector<Note> notes;
  for (const auto& [id, server] : state.servers()) {
    const Presence presence = id == leader ? Presence::kPresent : reachability.presence(id, now);
    if (presence == Presence::kUnknown) continue;
    const bool gone = presence == Presence::kAbsent;
    if (gone == told_to_be_gone(state.decisions(), id)) continue;
    notes.push_back({DecisionKind::kServer,
                     id,
                     gone ? Why::kSilence : Why::kHeartbeat,
                     gone ? "not heard for " + format_duration(kAbsentAfter) : "",
                     {},
                     {}});
  }
  return notes;
}

}  // namespace muster::cluster
