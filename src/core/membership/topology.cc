#include "core/membership/topology.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/membership/validation.h"

namespace muster::membership {
namespace {

std::size_t index_of(NodeState state) {
  const auto index = static_cast<std::size_t>(state);
  return index < kNodeStates ? index : 0;
}

Error bad_image(const std::string& what) {
  return {Errc::kCorrupt, "the topology snapshot " + what};
}

}  // namespace

std::size_t Topology::count(NodeState state) const {
  return counts_[index_of(state)];
}

std::size_t& Topology::counter(NodeState state) {
  return counts_[index_of(state)];
}

const NodeEntry* Topology::find(const NodeId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : slots_[found->second].get();
}

NodeEntry* Topology::find_mutable(const NodeId& id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : own(found->second);
}

NodeEntry* Topology::own(Slot slot) {
  if (slot >= slots_.size() || !slots_[slot]) return nullptr;
  std::shared_ptr<NodeEntry>& node = slots_[slot];
  if (node.use_count() > 1) node = std::make_shared<NodeEntry>(*node);
  return node.get();
}

std::vector<std::shared_ptr<const NodeEntry>> Topology::freeze() const {
  std::vector<std::shared_ptr<const NodeEntry>> nodes;
  nodes.reserve(size());
  for (const auto& node : slots_) {
    if (node) nodes.push_back(node);
  }
  return nodes;
}

const NodeEntry* Topology::at(Slot slot) const {
  return slot < slots_.size() ? slots_[slot].get() : nullptr;
}

Result<Slot> Topology::check_heartbeat(const NodeId& id, const Generation& generation) const {
  const NodeEntry* node = find(id);
  if (node == nullptr) {
    return {Errc::kNotFound, "node " + id.value() + " is not registered; register it first"};
  }
  if (node->generation != generation) {
    return {Errc::kConflict, "Zombie node detected: " + id.value() + " at " + endpoint(*node) +
                                 " has replaced this process"};
  }
  if (node->state == NodeState::kDown) {
    return {Errc::kConflict, "node " + id.value() +
                                 " was silent for too long and is DOWN; its work may have moved, "
                                 "so register it with a new generation_id"};
  }
  return node->slot;
}

Status Topology::may_propose(const Command& command) const {
  if (const NodeSpec* node = registered_by(command)) {
    return validate_virtual_nodes(node->weight, ring_.virtual_nodes_per_physical);
  }
  const auto* ring = std::get_if<SetRingConfig>(&command);
  if (ring == nullptr) return Done{};
  std::uint32_t heaviest = 0;
  for_each([&](const NodeEntry& node) { heaviest = std::max(heaviest, node.weight); });
  return validate_virtual_nodes(heaviest, ring->ring.virtual_nodes_per_physical);
}

Result<Topology> Topology::restore(TopologySnapshot image) {
  Slot slots = 0;
  for (const NodeEntry& node : image.nodes) {
    if (node.slot >= kSlotsMax) return bad_image("has a slot out of range");
    if (node.registration == 0 || node.registration > image.registrations) {
      return bad_image("has a registration that never was");
    }
    slots = std::max(slots, node.slot + 1);
  }
  if (image.departed.size() > kDepartedMax) return bad_image("remembers too many removed nodes");
  if (image.drains.size() > image.nodes.size() + kAbsentDrainsMax) {
    return bad_image("remembers too many drains");
  }
  Topology topology;
  topology.version_ = image.version;
  topology.log_time_ = image.log_time;
  topology.calendar_ = std::move(image.calendar);
  topology.registrations_ = image.registrations;
  topology.ring_ = std::move(image.ring);
  topology.departed_ = std::move(image.departed);
  topology.drains_ = std::move(image.drains);
  topology.unknown_ = std::move(image.unknown);
  topology.slots_.resize(slots);
  topology.by_id_.reserve(image.nodes.size());
  for (NodeEntry& node : image.nodes) {
    std::shared_ptr<NodeEntry>& slot = topology.slots_[node.slot];
    if (slot) return bad_image("gives one slot to two nodes");
    if (!topology.by_id_.emplace(node.id, node.slot).second) {
      return bad_image("holds one id twice");
    }
    ++topology.counter(node.state);
    slot = std::make_shared<NodeEntry>(std::move(node));
  }
  for (const auto& [id, version] : topology.drains_) {
    if (!topology.by_id_.contains(id)) ++topology.absent_drains_;
  }
  for (Slot slot = 0; slot < slots; ++slot) {
    if (!topology.slots_[slot]) topology.free_.push(slot);
  }
  return topology;
}

}  // namespace muster::membership
