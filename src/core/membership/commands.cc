#include "core/membership/commands.h"

#include <cstddef>
#include <iterator>
#include <utility>
#include <variant>

#include "core/membership/validation.h"

namespace muster::membership {
namespace {

struct Validate {
  Status operator()(const RegisterNode& c) const {
    if (!has_only_a_type(c.node)) return invalid("service and tags need a RegisterServiceNode");
    return validate(c.node);
  }
  Status operator()(const RegisterServiceNode& c) const { return validate(c.node); }
  Status operator()(const DeregisterNode& c) const {
    if (Status s = validate_node_id(c.id.value()); !s) return s;
    return c.generation.value().empty() ? Status(Done{})
                                        : validate_generation(c.generation.value());
  }
  Status operator()(const BatchHeartbeat& c) const {
    for (std::size_t i = 0; i < c.beats.size(); ++i) {
      if (c.beats[i].slot >= kSlotsMax) return {Errc::kInvalid, "beats: a slot is out of range"};
      if (i > 0 && c.beats[i - 1].slot >= c.beats[i].slot) {
        return {Errc::kInvalid, "beats must be strictly ascending by slot"};
      }
      if (Status s = validate_reported_state(c.beats[i].reported); !s) return s;
    }
    return Done{};
  }
  Status operator()(const MarkSuspect& c) const { return observation(c.seen); }
  Status operator()(const MarkDown& c) const { return observation(c.seen); }
  Status operator()(const RemoveJoining& c) const { return observation(c.seen); }
  Status operator()(const Drain& c) const { return validate_node_id(c.id.value()); }
  Status operator()(const SetRingConfig& c) const { return validate(c.ring); }
  Status operator()(const SetDrain& c) const { return validate_node_id(c.id.value()); }

  static Status observation(const Observation& seen) {
    if (Status s = validate_node_id(seen.id.value()); !s) return s;
    return validate_generation(seen.generation.value());
  }
};

}  // namespace

Observation observe(const NodeEntry& node) {
  return {node.id, node.generation, node.last_heartbeat_at, node.heartbeats};
}

Command registration_of(NodeSpec node) {
  if (has_only_a_type(node)) return RegisterNode{std::move(node), {}};
  return RegisterServiceNode{std::move(node), {}};
}

const NodeSpec* registered_by(const Command& command) {
  if (const auto* typed = std::get_if<RegisterNode>(&command)) return &typed->node;
  const auto* named = std::get_if<RegisterServiceNode>(&command);
  return named == nullptr ? nullptr : &named->node;
}

const char* name(const Command& command) {
  static constexpr const char* kNames[] = {
      "RegisterNode",  "DeregisterNode", "BatchHeartbeat", "MarkSuspect", "MarkDown",
      "RemoveJoining", "Drain",          "SetRingConfig",  "SetDrain",    "RegisterServiceNode"};
  static_assert(std::size(kNames) == std::variant_size_v<Command>);
  return kNames[command.index()];
}

Status validate(const Command& command) {
  return std::visit(Validate{}, command);
}

}  // namespace muster::membership
