// What is judged when a run is over.

#include "tests/sim/cluster/invariants.h"

namespace muster::sim {

// Reads and conditional writes are linearizable.
void Invariants::judge_history() {
  if (std::string wrong = history_.violation(); !wrong.empty()) violate(std::move(wrong));
}

// Long after everything healed someone leads, reads and writes go through, every node that lives
// is in, watchers are up to date, and the singleton runs.
void Invariants::judge_calm(const Calm& calm) {
  const auto must = [this](bool holds, const std::string& what) {
    if (!holds) violate(what + " long after everything healed");
  };
  must(calm.server_leads, "nobody leads");
  must(calm.last_write > world_.now() - 18s, "nothing was written");
  for (const auto& [client, last_read] : calm.last_reads) {
    must(last_read > world_.now() - 27s, client + " has read nothing");
  }
  const membership::Topology& topology = reference_.state().topology();
  for (const auto& [watcher, version] : calm.watchers) {
    const std::uint64_t due = next_version(watching_[watcher].services, version.value());
    must(due == 0 && version <= topology.version(), watcher + " is behind");
  }
  for (const NodeId& id : calm.living) {
    const membership::NodeState state = known(id).state;
    must(state == membership::NodeState::kActive || state == membership::NodeState::kDraining,
         id.value() + " lives and is not in");
  }
  must(calm.singleton_runs.value_or(true), "the singleton does not run");
  must(calm.worker_leads.value_or(true), "no worker leads");
}

}  // namespace muster::sim
