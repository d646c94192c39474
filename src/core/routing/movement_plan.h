#pragma once

#include <vector>

#include "base/strong.h"
#include "core/routing/hash_ring.h"

namespace muster {

/// A part of the key space, in positions: 2^64 is all of it. 128 bits wide, because the whole
/// does not fit into 64.
__extension__ typedef unsigned __int128 KeyShare;
inline constexpr KeyShare kWholeKeySpace = KeyShare{1} << 64;

/// For people: the share as a fraction of 1.
[[nodiscard]] double to_fraction(KeyShare share);

/// How much of the key space each member is primary for, in the order of ring.members(). The
/// shares of a ring that has virtual nodes add up to exactly kWholeKeySpace.
[[nodiscard]] std::vector<KeyShare> primary_shares(const HashRing& ring);

/// What changes for one node. A copy counts each of a key's replicas, the primary included.
struct NodeMovement {
  NodeId id;
  KeyShare primary_gained = 0;
  KeyShare primary_lost = 0;
  KeyShare copies_gained = 0;
  KeyShare copies_lost = 0;
};

/// What changing one ring into another moves; exact, not an estimate by sampled keys.
struct MovementPlan {
  KeyShare primary_moved = 0;       ///< Keys that get another primary, or a first one, or none.
  KeyShare copies_moved = 0;        ///< Copies to be made; up to replication × the key space.
  std::vector<NodeMovement> nodes;  ///< Every member of either ring, sorted by id.
};

[[nodiscard]] MovementPlan movement_plan(const HashRing& before, const HashRing& after);

}  // namespace muster
