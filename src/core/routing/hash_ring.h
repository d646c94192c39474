#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/strong.h"

namespace muster {

/// A node that takes part in routing. Membership decides who does: ACTIVE and SUSPECT nodes are
/// members, JOINING, DRAINING and DOWN ones are not.
struct RingMember {
  NodeId id;
  std::uint32_t weight = 1;  ///< Multiplies its virtual nodes; with 0 it owns nothing.
  bool suspect = false;      ///< Recently silent: still an owner, but callers may prefer another.
};

struct RingConfig {
  std::uint32_t virtual_nodes = 16;  ///< Per member and unit of weight.
  std::uint32_t replication = 3;
};

/// Where a key lives on the ring: the first 8 bytes, little-endian, of its SHA-256.
[[nodiscard]] std::uint64_t key_position(std::string_view key);
/// Likewise of the node's id followed by the index as 4 bytes, little-endian.
[[nodiscard]] std::uint64_t virtual_node_position(const NodeId& id, std::uint32_t index);

/// Which members hold a key, the primary first; indexes into HashRing::members(). No member comes
/// twice. Valid as long as the ring.
struct Placement {
  std::span<const std::uint32_t> members;
  bool degraded;  ///< Fewer members than the replication factor asks for, perhaps none.
};

/// Consistent hashing: a key belongs to the first virtual node at or after its position, its
/// replicas to the next distinct members clockwise. The same members and configuration give the
/// same answers on every machine, in whatever order they are listed; equal positions are ordered
/// by node id. Building hashes every virtual node; a lookup then costs one step into an index and
/// a search among the few positions that share it, O(log n) at worst, without allocating.
/// Immutable: any number of threads may read it.
class HashRing {
 public:
  /// One member has at most this many virtual nodes, whatever its weight. Servers refuse what would
  /// give it more.
  static constexpr std::uint64_t kVirtualNodesMax = 1u << 20;
  /// How many a member has: weight × virtual nodes, cut at that.
  [[nodiscard]] static std::uint32_t virtual_nodes_of(std::uint32_t weight, RingConfig config);

  /// An empty ring: every placement is degraded.
  HashRing() : HashRing({}, {}) {}
  /// Ids must be unique, both numbers of `config` positive. `position_of` differs only in tests,
  /// which need equal positions.
  using PositionOf = std::uint64_t (*)(const NodeId& id, std::uint32_t index);
  HashRing(std::vector<RingMember> members, RingConfig config,
           PositionOf position_of = virtual_node_position);

  [[nodiscard]] Placement lookup(std::string_view key) const { return at(key_position(key)); }
  [[nodiscard]] Placement at(std::uint64_t position) const;

  /// Sorted by id.
  [[nodiscard]] std::span<const RingMember> members() const { return members_; }
  [[nodiscard]] const RingConfig& config() const { return config_; }

  /// The positions of all virtual nodes, rising, and who holds the keys that end at each.
  [[nodiscard]] std::span<const std::uint64_t> positions() const { return positions_; }
  [[nodiscard]] Placement placement(std::size_t virtual_node) const;

 private:
  void place_virtual_nodes(PositionOf position_of);
  void place_replicas(std::span<const std::uint32_t> owners);
  void index_positions();

  std::vector<RingMember> members_;
  RingConfig config_;
  // Arrays of their own, so that a search touches nothing but positions.
  std::vector<std::uint64_t> positions_;
  std::vector<std::uint32_t> replicas_;  // replica_count_ for each virtual node, primary first.
  std::size_t replica_count_ = 0;
  // starts_[b] is the first virtual node whose position has at least the top bits b. There are
  // about as many values of b as virtual nodes, so hashing leaves one or two to search.
  std::vector<std::uint32_t> starts_;
  int shift_ = 63;
};

}  // namespace muster
