#include "server/gateway/ring_lookup.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "core/membership/lifecycle.h"
#include "core/routing/hash_ring.h"
#include "server/gateway/node_json.h"

namespace muster::server {
namespace {

bool is_placed(const v1::NodeInfo& node) {
  return node.weight() > 0 && membership::in_ring(static_cast<membership::NodeState>(node.state()));
}

}  // namespace

void RingLookup::build(const v1::GetTopologyResponse& topology, const std::string& service) {
  const v1::HashRingConfig& config = topology.hash_ring_config();
  const std::string of = topology.history() + ' ' + std::to_string(topology.version()) + ' ' +
                         std::to_string(config.virtual_nodes_per_physical()) + ' ' + service;
  if (of == built_of_) return;
  std::vector<std::pair<NodeId, std::uint32_t>> members;
  for_each_node(topology, [&](const v1::NodeInfo& node) {
    if (is_placed(node)) members.emplace_back(NodeId(node.id()), node.weight());
  });
  std::sort(members.begin(), members.end());
  const RingConfig ring{std::max(1u, config.virtual_nodes_per_physical()), 1};
  std::vector<RingTable::Point> points;
  ids_.clear();
  for (RingTable::Seat seat = 0; seat < members.size(); ++seat) {
    const auto& [id, weight] = members[seat];
    ids_.push_back(id.value());
    const std::uint32_t count = HashRing::virtual_nodes_of(weight, ring);
    for (std::uint32_t i = 0; i < count; ++i) {
      points.push_back({virtual_node_position(id, i), seat});
    }
  }
  // Seats are in the order of ids.
  table_ = RingTable(std::move(points), [](RingTable::Seat a, RingTable::Seat b) { return a < b; });
  built_of_ = of;
}

Json RingLookup::owners(const v1::GetTopologyResponse& topology, const std::string& service,
                        const std::string& key, std::size_t most) {
  build(topology, service);
  const std::size_t replicas = topology.hash_ring_config().replication_factor();
  const std::size_t wanted = std::min(most == 0 ? replicas : most, kOwnersMax);
  std::array<RingTable::Seat, kOwnersMax> seats{};
  const std::size_t count = table_.owners(key_position(key), std::span(seats.data(), wanted));
  std::map<std::string, Json> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes[ids_[seats[i]]] = nullptr;
  for_each_node(topology, [&](const v1::NodeInfo& node) {
    const auto owner = nodes.find(node.id());
    if (owner != nodes.end()) owner->second = node_json(node, topology.log_ms());
  });
  Json owners = Json::array();
  for (std::size_t i = 0; i < count; ++i) owners.push_back(nodes[ids_[seats[i]]]);
  return {{"version", topology.version()},
          {"history", topology.history()},
          {"key", key},
          {"replication_factor", replicas},
          {"degraded", count < std::min(wanted, replicas)},
          {"owners", std::move(owners)}};
}

}  // namespace muster::server
