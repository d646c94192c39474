#include "core/membership/node.h"

#include "base/text.h"

namespace muster::membership {
namespace {

template <typename Enum, std::size_t N>
Result<Enum> parse_enum(const std::string& text, const char* what, const Enum (&values)[N]) {
  std::string known;
  for (const Enum value : values) {
    const std::string name = to_lower(to_string(value));
    if (to_lower(text) == name) return value;
    known += (known.empty() ? "" : ", ") + name;
  }
  return {Errc::kInvalid, "\"" + text + "\" is no " + what + "; there are " + known};
}

}  // namespace

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

std::string_view service_of(NodeType type, std::string_view service) {
  if (!service.empty()) return service;
  switch (type) {
    case NodeType::kFrontend:
      return "frontend";
    case NodeType::kMetadata:
      return "metadata";
    case NodeType::kObject:
      return "object";
    case NodeType::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view service_of(const NodeSpec& node) {
  return service_of(node.type, node.service);
}

void set_service(NodeSpec& node, std::string_view service) {
  node.service.clear();
  for (const NodeType type : {NodeType::kFrontend, NodeType::kMetadata, NodeType::kObject}) {
    node.type = type;
    if (service_of(type, {}) == service) return;
  }
  node.type = NodeType::kUnknown;
  node.service = service;
}

bool has_only_a_type(const NodeSpec& node) {
  return node.service.empty() && node.tags.empty();
}

Result<NodeType> parse_node_type(const std::string& text) {
  constexpr NodeType kTypes[] = {NodeType::kFrontend, NodeType::kMetadata, NodeType::kObject};
  return parse_enum(text, "type of node", kTypes);
}

Result<NodeState> parse_node_state(const std::string& text) {
  constexpr NodeState kStates[] = {NodeState::kActive, NodeState::kJoining, NodeState::kDraining,
                                   NodeState::kDown, NodeState::kSuspect};
  return parse_enum(text, "state of a node", kStates);
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
