#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/membership/node.h"
#include "tests/sim/cluster/summary.h"

/// What the sources of the invariants have in common.
namespace muster::sim {

inline constexpr std::array<std::string_view, 6> kSampleKeys{"a", "b", "c", "d", "e", "f"};

/// Of whatever tells of a node.
template <typename Node>
void add_node(Summary& nodes, const NodeId& id, const Node& node, std::string_view service) {
  nodes.add(id.value());
  nodes.add(membership::to_string(node.state));
  nodes.add(node.generation.value());
  nodes.add(std::uint64_t{node.drain_requested});
  nodes.add(service);
  for (const auto& [key, value] : node.tags) {
    nodes.add(key);
    nodes.add(value);
  }
}

inline std::string number(std::uint64_t n) {
  return std::to_string(n);
}

}  // namespace muster::sim
