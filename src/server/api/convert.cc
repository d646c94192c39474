#include "server/api/convert.h"

#include <algorithm>
#include <utility>

#include "core/membership/validation.h"

namespace muster::server {
namespace {

/// What may be a mistake must not become a write without a condition.
Result<cluster::KvCondition> to_condition(const std::string& field,
                                          const v1::StoreCondition& when) {
  switch (when.kind_case()) {
    case v1::StoreCondition::kAbsent:
      if (!when.absent()) return {Errc::kInvalid, field + ".absent must be true when it is given"};
      return cluster::KvCondition(cluster::Absent{});
    case v1::StoreCondition::kAtRevision:
      if (when.at_revision() == 0) {
        return {Errc::kInvalid, field + ".at_revision must be above 0"};
      }
      return cluster::KvCondition(cluster::AtRevision{when.at_revision()});
    case v1::StoreCondition::KIND_NOT_SET:
      break;
  }
  return cluster::KvCondition(cluster::AnyVersion{});
}

}  // namespace

void to_proto(const membership::NodeEntry& node, const membership::Topology& topology,
              v1::NodeInfo& out) {
  out.set_id(node.id.value());
  out.set_address(node.address);
  out.set_port(node.port);
  out.set_state(static_cast<v1::NodeState>(node.state));
  out.set_type(static_cast<v1::NodeType>(node.type));
  out.set_last_heartbeat_at(to_ms(topology.label(node.last_heartbeat_at)));
  out.set_suspect_count(node.suspect_count);
  out.set_generation_id(node.generation.value());
  out.set_registered_at(to_ms(topology.label(node.registered_at)));
  out.set_weight(node.weight);
  out.set_state_since(to_ms(topology.label(node.state_since)));
  out.set_drain_requested(node.drain_requested);
  out.set_last_heartbeat_log_ms(to_ms(node.last_heartbeat_at));
  out.set_state_since_log_ms(to_ms(node.state_since));
  out.set_service(node.service);
  for (const auto& [key, value] : node.tags) (*out.mutable_tags())[key] = value;
}

void to_proto(const membership::RingConfig& ring, v1::HashRingConfig& out) {
  out.set_virtual_nodes_per_physical(ring.virtual_nodes_per_physical);
  out.set_replication_factor(ring.replication_factor);
}

void to_proto(const membership::Topology& topology, const membership::ServiceFilter& services,
              v1::GetTopologyResponse& out) {
  out.set_version(topology.version().value());
  to_proto(topology.ring(), *out.mutable_hash_ring_config());
  topology.for_each([&](const membership::NodeEntry& node) {
    if (!services.contains(node)) return;
    if (!node.service.empty()) return to_proto(node, topology, *out.add_nodes());
    switch (node.type) {
      case membership::NodeType::kFrontend:
        return to_proto(node, topology, *out.add_frontend_nodes());
      case membership::NodeType::kMetadata:
        return to_proto(node, topology, *out.add_metadata_nodes());
      case membership::NodeType::kObject:
      case membership::NodeType::kUnknown:
        // A type that only a newer server knows is shown with its number rather than not at all.
        return to_proto(node, topology, *out.add_object_nodes());
    }
    to_proto(node, topology, *out.add_object_nodes());
  });
}

void to_proto(const std::string& key, const cluster::KvEntry& entry, membership::LogTime now,
              bool with_value, v1::StoreObject& out) {
  out.set_key(key);
  out.set_revision(entry.revision);
  const std::int64_t age = to_ms(now) - to_ms(entry.written_at);
  out.set_age_ms(static_cast<std::uint64_t>(std::max<std::int64_t>(age, 0)));
  if (with_value && entry.value) out.set_value(*entry.value);
}

void to_proto(const cluster::KvEvent& event, v1::StoreEvent& out) {
  out.set_removed(event.removed());
  v1::StoreObject& object = *out.mutable_object();
  object.set_key(event.key);
  object.set_revision(event.entry.revision);
  if (!event.removed()) object.set_value(*event.entry.value);
}

Result<membership::NodeSpec> to_spec(const v1::NodeInfo& node) {
  if (!v1::NodeType_IsValid(node.type())) {
    return {Errc::kInvalid, "type " + std::to_string(node.type()) +
                                " is not known to this server; it must be FRONTEND, METADATA or "
                                "OBJECT"};
  }
  membership::NodeSpec spec;
  spec.id = NodeId(node.id());
  spec.address = node.address();
  spec.port = node.port();
  spec.type = static_cast<membership::NodeType>(node.type());
  if (!node.service().empty()) {
    membership::NodeSpec named;
    membership::set_service(named, node.service());
    if (spec.type != membership::NodeType::kUnknown && spec.type != named.type) {
      return {Errc::kInvalid, "service " + node.service() + " is not of type " +
                                  membership::to_string(spec.type) + "; give only one of the two"};
    }
    spec.type = named.type;
    spec.service = std::move(named.service);
  }
  spec.tags.insert(node.tags().begin(), node.tags().end());
  spec.generation = membership::Generation(node.generation_id());
  spec.weight = node.weight() == 0 ? 1 : node.weight();
  return spec;
}

Result<membership::NodeState> to_reported_state(v1::NodeState state) {
  if (!v1::NodeState_IsValid(state)) {
    return {Errc::kInvalid, "reported_state " + std::to_string(state) +
                                " is not known to this server; it must be ACTIVE, JOINING or "
                                "DRAINING, or left out"};
  }
  const auto reported = static_cast<membership::NodeState>(state);
  if (Status s = membership::validate_reported_state(reported); !s) return s.error();
  return reported;
}

membership::RingConfig to_ring(const v1::HashRingConfig& ring) {
  return {ring.virtual_nodes_per_physical(), ring.replication_factor(), {}};
}

Result<cluster::StorePut> to_command(v1::StorePutRequest request) {
  cluster::StorePut command;
  auto when = to_condition("when", request.when());
  if (!when) return when.error();
  command.key = std::move(*request.mutable_key());
  command.value = std::move(*request.mutable_value());
  command.when = std::move(*when);
  if (request.has_guard()) {
    auto guarded = to_condition("guard.when", request.guard().when());
    if (!guarded) return guarded.error();
    command.guard = cluster::StoreGuard{request.guard().key(), std::move(*guarded)};
  }
  return command;
}

cluster::StoreRemove to_command(v1::StoreRemoveRequest request) {
  cluster::StoreRemove command;
  command.key = std::move(*request.mutable_key());
  if (request.at_revision() != 0) command.when = cluster::AtRevision{request.at_revision()};
  return command;
}

}  // namespace muster::server
