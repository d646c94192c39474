#include "core/membership/node.h"

namespace muster::membership {

const char* to_string(NodeState state) {
  switch (state) {
    case NodeState::kUnknown:
      break;
    case NodeState::kActive:
      return "ACTIVE";
    case NodeState::kJoining:
      return "JOINING";
    case NodeState::kDraining:
      return "DRAINING";
    case NodeState::kDown:
      return "DOWN";
    case NodeState::kSuspect:
      return "SUSPECT";
  }
  return "UNKNOWN";
}

const char* to_string(NodeType type) {
  switch (type) {
    case NodeType::kUnknown:
      break;
    case NodeType::kFrontend:
      return "FRONTEND";
    case NodeType::kMetadata:
      return "METADATA";
    case NodeType::kObject:
      return "OBJECT";
  }
  return "UNKNOWN";
}

Duration log_age(LogTime now, LogTime then, Duration cap) {
  if (now <= then) return Duration(0);
  // Unsigned, because the distance of two damaged times does not fit a signed number.
  const auto ms = static_cast<std::uint64_t>(to_ms(now)) - static_cast<std::uint64_t>(to_ms(then));
  if (ms >= static_cast<std::uint64_t>(to_ms(cap))) return cap;
  return std::chrono::milliseconds(ms);
}

std::string to_string(const RingConfig& ring) {
  return std::to_string(ring.virtual_nodes_per_physical) + " virtual nodes per node, replication " +
         std::to_string(ring.replication_factor);
}

std::string endpoint(const NodeSpec& node) {
  const bool v6 = node.address.find(':') != std::string::npos;
  return (v6 ? "[" + node.address + "]" : node.address) + ":" + std::to_string(node.port);
}

}  // namespace muster::membership
