#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/membership/commands.h"
#include "core/membership/node.h"
#include "core/membership/topology.h"

/// Short words for the tests of this module.
namespace muster::membership::testing {

inline std::string uuid(unsigned n) {
  const std::string digits = std::to_string(n);
  return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

inline NodeSpec spec(std::string id, unsigned generation = 1, std::string address = "10.0.0.1") {
  NodeSpec node;
  node.id = NodeId(std::move(id));
  node.address = std::move(address);
  node.port = 9000;
  node.type = NodeType::kObject;
  node.generation = Generation(uuid(generation));
  return node;
}

inline NodeSpec service_spec(std::string id, const std::string& service, Tags tags = {},
                             unsigned generation = 1) {
  NodeSpec node = spec(std::move(id), generation);
  set_service(node, service);
  node.tags = std::move(tags);
  return node;
}

inline LogTime at(std::int64_t seconds) {
  return log_time_from_ms(1'700'000'000'000 + seconds * 1000);
}

/// The label of `at`, where nothing else is known.
inline WallTime wall(std::int64_t seconds) {
  return wall_from_ms(to_ms(at(seconds)));
}

inline RegisterNode registration(const std::string& id, unsigned generation = 1) {
  return {spec(id, generation), {}};
}

/// A heartbeat of one node as the batcher would write it now.
inline BatchHeartbeat beat(const Topology& topology, const std::string& id,
                           NodeState reported = NodeState::kActive) {
  return {topology.registrations(), {{topology.find(NodeId(id))->slot, reported}}, {}};
}

inline Observation seen(const Topology& topology, const std::string& id) {
  return observe(*topology.find(NodeId(id)));
}

inline NodeState state(const Topology& topology, const std::string& id) {
  return topology.find(NodeId(id))->state;
}

}  // namespace muster::membership::testing
