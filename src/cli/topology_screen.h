#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "client/coordinator_client.h"
#include "core/client/node.h"

namespace muster::cli {

/// A topology, and what a server says of itself.
struct Sight {
  client::TopologyImage topology;
  client::Health health;
};
[[nodiscard]] Result<Sight> see(client::Client& client, const client::ServiceFilter& services,
                                const client::CallOptions& options);

/// A topology as --watch shows it: who leads the servers and with which epoch, how many nodes are
/// in which state, and a row for each node with its state, how long it has been in it, how long ago
/// it was heard of, and how often it was suspected. `nodes` are those to show, in that order; `now`
/// is this machine's wall clock.
[[nodiscard]] std::string topology_screen(const Terminal& terminal, const Sight& sight,
                                          const std::vector<client::Node>& nodes, WallTime now);

}  // namespace muster::cli
