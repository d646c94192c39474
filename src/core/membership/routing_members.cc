#include "core/membership/routing_members.h"

#include "core/membership/lifecycle.h"

namespace muster::membership {

std::vector<RoutingMember> ring_members(const Topology& topology) {
  std::vector<RoutingMember> members;
  members.reserve(topology.count(NodeState::kActive) + topology.count(NodeState::kSuspect));
  topology.for_each([&](const NodeEntry& node) {
    if (!in_ring(node.state)) return;
    members.push_back({node.id, node.weight, node.state == NodeState::kSuspect});
  });
  return members;
}

}  // namespace muster::membership
