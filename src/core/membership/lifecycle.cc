#include "core/membership/lifecycle.h"

namespace muster::membership {

bool in_ring(NodeState state) {
  return state == NodeState::kActive || state == NodeState::kSuspect;
}

NodeState after_heartbeat(const NodeEntry& node, NodeState reported) {
  const bool drain = node.drain_requested || reported == NodeState::kDraining;
  switch (node.state) {
    case NodeState::kJoining:
      if (reported == NodeState::kJoining) return NodeState::kJoining;
      return drain ? NodeState::kDraining : NodeState::kActive;
    case NodeState::kActive:
    case NodeState::kSuspect:
      return drain ? NodeState::kDraining : NodeState::kActive;
    case NodeState::kDraining:
      return !drain && reported == NodeState::kActive ? NodeState::kActive : NodeState::kDraining;
    case NodeState::kDown:
    case NodeState::kUnknown:
      break;
  }
  return node.state;
}

bool may_become_suspect(NodeState state) {
  return state == NodeState::kActive;
}

bool may_become_down(NodeState state) {
  return state == NodeState::kSuspect || state == NodeState::kDraining;
}

}  // namespace muster::membership
