#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/strong.h"
#include "base/time.h"
#include "core/membership/node.h"
#include "core/membership/service_filter.h"
#include "core/routing/hash_ring.h"

namespace muster::client {

using membership::Generation;
using membership::NodeSpec;
using membership::NodeState;
using membership::NodeType;
using membership::ServiceFilter;

/// A node as a server reports it. Its times are labels, for people; the servers measured its
/// ages.
struct Node {
  NodeId id;
  std::string address;
  std::uint32_t port = 0;
  NodeType type = NodeType::kUnknown;
  std::string service{};  ///< Empty if `type` says it; see service_of().
  membership::Tags tags{};
  NodeState state = NodeState::kUnknown;
  Generation generation;
  std::uint32_t weight = 1;
  bool drain_requested = false;
  std::uint32_t suspect_count = 0;
  WallTime registered_at{};
  WallTime state_since{};
  /// As of the time of sending: heartbeats raise no version, so no event reports them.
  WallTime last_heartbeat_at{};
  /// As of the answer with this node; none in an event.
  std::optional<Duration> heartbeat_age{};
  std::optional<Duration> state_age{};

  bool operator==(const Node&) const = default;
};

/// "object" …, or the name with which it registered.
[[nodiscard]] inline std::string_view service_of(const Node& node) {
  return membership::service_of(node.type, node.service);
}

/// The topology in one answer.
struct TopologyImage {
  TopologyVersion version;
  std::vector<Node> nodes;  ///< In no order.
  RingConfig ring;
  std::string leader_id;  ///< Of the servers; empty if no leader is known.
  Duration age{0};        ///< How long ago the server last heard from its engine.
  std::string history{};  ///< The history of the version; another one after a restore.
};

}  // namespace muster::client
