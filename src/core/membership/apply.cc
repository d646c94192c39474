// How each command changes a Topology. Everything here is deterministic: no clock but the log's,
// no order but that of slots and of the command itself.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/membership/lifecycle.h"
#include "core/membership/topology.h"

namespace muster::membership {
namespace {

Error not_found(const NodeId& id) {
  return {Errc::kNotFound, "node " + id.value() + " is not registered"};
}

Error conflict(std::string message) {
  return {Errc::kConflict, std::move(message)};
}

/// "OBJECT", or the name of a service without a type.
std::string kind(const NodeSpec& node) {
  return node.service.empty() ? to_string(node.type) : node.service;
}

std::string describe(const NodeEntry& node) {
  return "node " + node.id.value() + " is held by " + endpoint(node) + " (" + kind(node) + ", " +
         to_string(node.state) + ", generation " + node.generation.value() + ")";
}

bool same_place(const NodeSpec& a, const NodeSpec& b) {
  return a.address == b.address && a.port == b.port && a.type == b.type && a.service == b.service;
}

template <typename T>
void push_bounded(std::vector<T>& history, T value, std::size_t max) {
  if (history.size() >= max) history.erase(history.begin());
  history.push_back(std::move(value));
}

/// P09: a decision holds only for the node it was made about, if that was not heard since.
Status still_true(const NodeEntry* node, const Observation& seen) {
  if (node == nullptr) return not_found(seen.id);
  if (node->generation != seen.generation) {
    return conflict("node " + seen.id.value() + " has registered anew since the decision");
  }
  if (node->heartbeats != seen.heartbeats || node->last_heartbeat_at != seen.last_heartbeat_at) {
    return conflict("node " + seen.id.value() + " was heard since the decision");
  }
  return Done{};
}

Error wrong_state(const NodeEntry& node, const char* step) {
  return conflict("node " + node.id.value() + " is " + to_string(node.state) + "; " + step);
}

}  // namespace

ApplyResult Topology::apply(const Command& command, LogTime time) {
  log_time_ = std::max(log_time_, time);
  const TopologyVersion before = version_;
  Events events;
  Answer answer = std::visit([&](const auto& c) { return on(c, events); }, command);
  return {before, version_, std::move(answer), std::move(events)};
}

Topology::Answer Topology::on(const RegisterNode& command, Events& events) {
  return enter(command.node, events);
}

Topology::Answer Topology::on(const RegisterServiceNode& command, Events& events) {
  return enter(command.node, events);
}

Topology::Answer Topology::enter(const NodeSpec& spec, Events& events) {
  NodeEntry* node = find_mutable(spec.id);
  if (node == nullptr) return add(spec, events);
  if (node->generation == spec.generation) {
    if (node->state == NodeState::kDown) {
      return wrong_state(*node, "this generation cannot return, register with a new generation_id");
    }
    if (!same_place(*node, spec) || node->weight != spec.weight || node->tags != spec.tags) {
      return conflict(describe(*node) +
                      " with other data under the same generation_id; a changed node registers "
                      "with a new one");
    }
    return Outcome{.already_registered = true};
  }
  // A retried registration of a replaced process may come late; it must not displace its successor.
  if (std::find(node->retired.begin(), node->retired.end(), spec.generation) !=
      node->retired.end()) {
    return conflict("Zombie node detected: " + describe(*node) + " and has replaced this process");
  }
  // Only one process can listen at an address and port: the earlier one is gone.
  if (node->state == NodeState::kDown || same_place(*node, spec)) {
    return replace(*node, spec, events);
  }
  return conflict(describe(*node) + "; choose another id, deregister it, or wait until it is DOWN");
}

Topology::Answer Topology::add(const NodeSpec& spec, Events& events) {
  if (by_id_.size() >= kSlotsMax) {
    return Error{Errc::kThrottled, "the topology is full: " + std::to_string(kSlotsMax) + " nodes"};
  }
  Slot slot = static_cast<Slot>(slots_.size());
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_.top();
    free_.pop();
  }
  slots_[slot] = std::make_shared<NodeEntry>();
  NodeEntry& node = *slots_[slot];
  node.slot = slot;
  ++counter(node.state);
  by_id_.emplace(spec.id, slot);
  begin(node, spec);
  node.retired = recall(spec);
  node.drain_requested = drains_.contains(spec.id);
  if (node.drain_requested) --absent_drains_;
  emit(EventKind::kNodeAdded, node, NodeState::kUnknown, events);
  return Outcome{};
}

Topology::Answer Topology::replace(NodeEntry& node, const NodeSpec& spec, Events& events) {
  const NodeState from = node.state;
  std::shared_ptr<const NodeEntry> before;
  if (service_of(node) != service_of(spec)) before = std::make_shared<NodeEntry>(node);
  push_bounded(node.retired, node.generation, kRetiredMax);
  begin(node, spec);
  emit(EventKind::kNodeUpdated, node, from, events);
  events.back().before = std::move(before);
  return Outcome{};
}

std::vector<Generation> Topology::recall(const NodeSpec& spec) {
  const auto found = std::find_if(departed_.begin(), departed_.end(),
                                  [&spec](const Departed& left) { return left.id == spec.id; });
  if (found == departed_.end()) return {};
  std::vector<Generation> generations = std::move(found->generations);
  departed_.erase(found);
  std::erase(generations, spec.generation);
  return generations;
}

/// The start of a generation. Suspicions and an operator's drain stay: they are about the place,
/// not about the process.
void Topology::begin(NodeEntry& node, const NodeSpec& spec) {
  static_cast<NodeSpec&>(node) = spec;
  set_state(node, NodeState::kJoining);
  node.registered_at = log_time_;
  node.last_heartbeat_at = log_time_;
  node.heartbeats = 0;
  node.registration = ++registrations_;
}

Topology::Answer Topology::on(const DeregisterNode& command, Events& events) {
  const NodeEntry* node = find(command.id);
  if (node == nullptr) return not_found(command.id);
  if (!command.generation.value().empty() && node->generation != command.generation) {
    return conflict("Zombie node detected: " + describe(*node) + " and has replaced this process");
  }
  remove(*node, events);
  return Outcome{};
}

Topology::Answer Topology::on(const BatchHeartbeat& command, Events& events) {
  Outcome outcome;
  for (const Beat& beat : command.beats) {
    NodeEntry* node = own(beat.slot);
    if (node == nullptr || node->registration > command.as_of || node->state == NodeState::kDown) {
      ++outcome.beats_void;
      continue;
    }
    ++outcome.beats_applied;
    ++node->heartbeats;
    node->last_heartbeat_at = log_time_;
    const NodeState next = after_heartbeat(*node, beat.reported);
    if (next != node->state) move_to(*node, next, events);
  }
  return outcome;
}

Topology::Answer Topology::on(const MarkSuspect& command, Events& events) {
  NodeEntry* node = find_mutable(command.seen.id);
  if (Status s = still_true(node, command.seen); !s) return s.error();
  if (!may_become_suspect(node->state)) return wrong_state(*node, "only ACTIVE becomes SUSPECT");
  ++node->suspect_count;
  push_bounded(node->suspected_at, log_time_, kFlapHistoryMax);
  move_to(*node, NodeState::kSuspect, events);
  return Outcome{};
}

Topology::Answer Topology::on(const MarkDown& command, Events& events) {
  NodeEntry* node = find_mutable(command.seen.id);
  if (Status s = still_true(node, command.seen); !s) return s.error();
  if (!may_become_down(node->state)) {
    return wrong_state(*node, "only SUSPECT and DRAINING become DOWN");
  }
  move_to(*node, NodeState::kDown, events);
  return Outcome{};
}

Topology::Answer Topology::on(const RemoveJoining& command, Events& events) {
  const NodeEntry* node = find(command.seen.id);
  if (node == nullptr) return not_found(command.seen.id);
  // One that was removed meanwhile and is back has all of its time again.
  if (node->generation != command.seen.generation ||
      node->registered_at > command.seen.last_heartbeat_at) {
    return conflict("node " + command.seen.id.value() + " has registered anew since the decision");
  }
  if (node->state != NodeState::kJoining) return wrong_state(*node, "it has joined in time");
  remove(*node, events);
  return Outcome{};
}

Topology::Answer Topology::on(const Drain& command, Events& events) {
  NodeEntry* node = find_mutable(command.id);
  if (node == nullptr) return not_found(command.id);
  if (node->state == NodeState::kDown)
    return wrong_state(*node,
                       "the node is not in the ring, so "
                       "there is nothing to drain");
  if (command.cancel) {
    if (node->state == NodeState::kDraining && !node->drain_requested) {
      return wrong_state(*node,
                         "the node itself asked to be drained, so only the node can end "
                         "that");
    }
    node->drain_requested = false;
    drains_.erase(command.id);
    if (node->state == NodeState::kDraining) move_to(*node, NodeState::kActive, events);
    return Outcome{};
  }
  node->drain_requested = true;
  if (in_ring(node->state)) move_to(*node, NodeState::kDraining, events);
  return Outcome{};
}

Topology::Answer Topology::on(const SetDrain& command, Events& events) {
  NodeEntry* node = find_mutable(command.id);
  return command.drained ? drain(node, command.id, events) : undrain(node, command.id, events);
}

Topology::Answer Topology::drain(NodeEntry* node, const NodeId& id, Events& events) {
  if (node == nullptr) return drains_.contains(id) ? Answer(Outcome{}) : Answer(not_found(id));
  const bool moves = in_ring(node->state);
  const bool changes = !std::exchange(node->drain_requested, true);
  if (moves) {
    move_to(*node, NodeState::kDraining, events);
  } else if (changes) {
    emit(EventKind::kNodeUpdated, *node, node->state, events);
  }
  drains_[id] = version_;
  return Outcome{};
}

Topology::Answer Topology::undrain(NodeEntry* node, const NodeId& id, Events& events) {
  if (node == nullptr) {
    if (drains_.erase(id) == 0) return not_found(id);
    --absent_drains_;
    return Outcome{};
  }
  if (!node->drain_requested) {
    if (node->state != NodeState::kDraining) return Outcome{};
    return wrong_state(*node, "the node itself asked to be drained, so only the node can end that");
  }
  drains_.erase(id);
  node->drain_requested = false;
  if (node->state == NodeState::kDraining) {
    move_to(*node, NodeState::kActive, events);
  } else {
    emit(EventKind::kNodeUpdated, *node, node->state, events);
  }
  return Outcome{};
}

// Nodes that are drained, removed and never come back must not be remembered for ever.
void Topology::keep_absent_drain(const NodeId& id) {
  if (!drains_.contains(id) || ++absent_drains_ <= kAbsentDrainsMax) return;
  auto oldest = drains_.end();
  for (auto it = drains_.begin(); it != drains_.end(); ++it) {
    if (by_id_.contains(it->first)) continue;
    if (oldest == drains_.end() || it->second < oldest->second) oldest = it;
  }
  drains_.erase(oldest);
  --absent_drains_;
}

Topology::Answer Topology::on(const SetRingConfig& command, Events& events) {
  if (ring_ == command.ring) return Outcome{};
  ring_ = command.ring;
  emit(EventKind::kRingConfigChanged, NodeEntry{}, NodeState::kUnknown, events);
  events.back().ring = ring_;
  return Outcome{};
}

void Topology::remove(const NodeEntry& node, Events& events) {
  emit(EventKind::kNodeRemoved, node, node.state, events);
  Departed left{node.id, node.retired};
  push_bounded(left.generations, node.generation, kRetiredMax);
  push_bounded(departed_, std::move(left), kDepartedMax);
  const Slot slot = node.slot;
  --counter(node.state);
  by_id_.erase(node.id);
  keep_absent_drain(node.id);
  slots_[slot].reset();
  free_.push(slot);
}

void Topology::move_to(NodeEntry& node, NodeState state, Events& events) {
  const NodeState from = node.state;
  set_state(node, state);
  emit(EventKind::kNodeUpdated, node, from, events);
}

void Topology::set_state(NodeEntry& node, NodeState state) {
  --counter(node.state);
  ++counter(state);
  node.state = state;
  node.state_since = log_time_;
}

void Topology::emit(EventKind kind, const NodeEntry& node, NodeState from, Events& events) {
  const TopologyVersion previous = version_;
  version_ = TopologyVersion(previous.value() + 1);
  events.push_back({kind, previous, version_, node, from, {}, {}});
}

}  // namespace muster::membership
