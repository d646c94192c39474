#include "cli/topology_screen.h"

#include <algorithm>

#include "base/text.h"
#include "cli/event_text.h"
#include "cli/topology_text.h"

namespace muster::cli {
namespace {

using client::Node;
using client::NodeState;

std::string leader_line(const Terminal& terminal, const client::Health& health) {
  if (health.leader_id.empty()) {
    return terminal.red("nobody leads") + "; the last epoch was " +
           std::to_string(health.epoch.value());
  }
  return terminal.green(health.leader_id + " leads") + " at " + health.leader_address + ", epoch " +
         std::to_string(health.epoch.value());
}

std::string count_line(const client::TopologyImage& topology) {
  std::string text = "version " + std::to_string(topology.version.value()) + ": ";
  for (const NodeState state : {NodeState::kActive, NodeState::kSuspect, NodeState::kDown,
                                NodeState::kJoining, NodeState::kDraining}) {
    const auto count = std::count_if(topology.nodes.begin(), topology.nodes.end(),
                                     [&](const Node& node) { return node.state == state; });
    text += std::to_string(count) + " " + to_lower(membership::to_string(state)) + ", ";
  }
  return text + std::to_string(topology.ring.virtual_nodes) + " virtual nodes, replication " +
         std::to_string(topology.ring.replication);
}

std::string painted(const Terminal& terminal, NodeState state, const std::string& row) {
  switch (state) {
    case NodeState::kDown:
      return terminal.red(row);
    case NodeState::kSuspect:
      return terminal.yellow(row);
    case NodeState::kJoining:
    case NodeState::kDraining:
      return terminal.dim(row);
    default:
      return row;
  }
}

}  // namespace

Result<Sight> see(client::Client& client, const client::ServiceFilter& services,
                  const client::CallOptions& options) {
  auto topology = client.call(client::GetTopology{false, services}, options);
  if (!topology) return topology.error();
  auto health = client.health_check(options);
  if (!health) return health.error();
  return Sight{std::move(*topology), std::move(*health)};
}

std::string topology_screen(const Terminal& terminal, const Sight& sight,
                            const std::vector<Node>& nodes, WallTime now) {
  std::string text = format_time(now) + "  " + leader_line(terminal, sight.health) + "\n" +
                     count_line(sight.topology) + "\n\n";
  std::vector<std::vector<std::string>> table{
      {"ID", "SERVICE", "STATE", "FOR", "HEARTBEAT", "FLAPS", "ADDRESS"}};
  for (const Node& node : nodes) {
    table.push_back({node.id.value(), std::string(service_of(node)), state_text(node),
                     age_text(node.state_age), ago(node.heartbeat_age),
                     std::to_string(node.suspect_count), place(node)});
  }
  const std::string rows = format_table(table);
  const std::vector<std::string_view> lines = split(rows, '\n');
  text += std::string(lines[0]) + "\n";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    text += painted(terminal, nodes[i].state, std::string(lines[i + 1])) + "\n";
  }
  return text;
}

}  // namespace muster::cli
