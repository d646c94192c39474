#pragma once

#include <cstdint>
#include <vector>

#include "base/strong.h"
#include "core/membership/topology.h"

namespace muster::membership {

/// A node on which keys are placed.
struct RoutingMember {
  NodeId id;
  std::uint32_t weight = 1;
  bool suspect = false;  ///< Still an owner, but a reader may prefer another replica.
  bool operator==(const RoutingMember&) const = default;
};

/// Every node in the ring, ACTIVE and SUSPECT, in the order of slots. Fewer than the replication
/// factor is a degraded ring, not an error.
[[nodiscard]] std::vector<RoutingMember> ring_members(const Topology& topology);

}  // namespace muster::membership
