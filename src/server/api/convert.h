#pragma once

#include "base/result.h"
#include "core/cluster/cluster_state.h"
#include "core/cluster/commands.h"
#include "core/membership/node.h"
#include "core/membership/service_filter.h"
#include "core/membership/topology.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/store.pb.h"

namespace muster::server {

/// Conversions between the wire contract and Muster's types. Input is refused with kInvalid if it
/// holds an unknown enum value, or an impossible condition; validate() of the command checks all
/// other rules.

void to_proto(const membership::NodeEntry& node, const membership::Topology& topology,
              v1::NodeInfo& out);
void to_proto(const membership::RingConfig& ring, v1::HashRingConfig& out);
/// Everything but leader_id, age_ms and log_ms.
void to_proto(const membership::Topology& topology, const membership::ServiceFilter& services,
              v1::GetTopologyResponse& out);
void to_proto(const std::string& key, const cluster::KvEntry& entry, membership::LogTime now,
              bool with_value, v1::StoreObject& out);
void to_proto(const cluster::KvEvent& event, v1::StoreEvent& out);

[[nodiscard]] Result<membership::NodeSpec> to_spec(const v1::NodeInfo& node);
[[nodiscard]] Result<membership::NodeState> to_reported_state(v1::NodeState state);
[[nodiscard]] membership::RingConfig to_ring(const v1::HashRingConfig& ring);
[[nodiscard]] Result<cluster::StorePut> to_command(v1::StorePutRequest request);
[[nodiscard]] cluster::StoreRemove to_command(v1::StoreRemoveRequest request);

}  // namespace muster::server
