#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/strong.h"
#include "base/time.h"

namespace muster::membership {

/// The numbers are those of the wire contract and of stored bytes; they never change.
enum class NodeState : std::uint8_t {
  kUnknown = 0,
  kActive = 1,
  kJoining = 2,
  kDraining = 3,
  kDown = 4,
  kSuspect = 5,
};
inline constexpr std::size_t kNodeStates = 6;

enum class NodeType : std::uint8_t { kUnknown = 0, kFrontend = 1, kMetadata = 2, kObject = 3 };

/// "ACTIVE", "OBJECT" …; a value that only a newer server knows reads "UNKNOWN".
[[nodiscard]] const char* to_string(NodeState state);
[[nodiscard]] const char* to_string(NodeType type);

using muster::LogTime;

/// How much log time passed from `then` to `now`, at least 0 and at most `cap`. A cap is always
/// needed: servers of 0.1 moved log time by their wall clocks, perhaps by years.
[[nodiscard]] Duration log_age(LogTime now, LogTime then, Duration cap);

/// One run of one node: the UUID that its process made at start.
struct GenerationTag {};
using Generation = Strong<GenerationTag, std::string>;

/// A small number that stands for a node while it is registered, so that a heartbeat batch costs
/// a byte or two per node. The smallest free one is given; it is free again after removal.
using Slot = std::uint32_t;
/// More nodes than this are refused. It also bounds what a damaged snapshot can make us allocate.
inline constexpr Slot kSlotsMax = 1U << 20;

/// What a node says about itself when it registers.
struct NodeSpec {
  NodeId id;
  std::string address;
  std::uint32_t port = 0;
  NodeType type = NodeType::kUnknown;
  Generation generation;
  std::uint32_t weight = 1;
  /// Fields that a newer server wrote, in wire form. They travel from the registration into the
  /// entry and into snapshots, so that a rollback and the next upgrade lose nothing.
  std::string unknown;

  bool operator==(const NodeSpec&) const = default;
};
/// address:port for people, with the brackets that an IPv6 address needs.
[[nodiscard]] std::string endpoint(const NodeSpec& node);

/// Suspicions remembered per node. flap_threshold cannot ask for more.
inline constexpr std::size_t kFlapHistoryMax = 16;
/// Replaced generations remembered per node, to refuse their late registrations.
inline constexpr std::size_t kRetiredMax = 4;
/// Nodes that were removed last, of which that is remembered, too.
inline constexpr std::size_t kDepartedMax = 256;
/// Drains of nodes that are not registered, and that wait for them to come back.
inline constexpr std::size_t kAbsentDrainsMax = 4096;

/// A node as every replica knows it.
struct NodeEntry : NodeSpec {
  NodeState state = NodeState::kJoining;
  LogTime state_since{};
  LogTime registered_at{};
  LogTime last_heartbeat_at{};  ///< Registering counts as the first sign of life.
  /// Heartbeats of this generation. Two may come within one millisecond; this number still tells
  /// whether a node was heard since a decision was made.
  std::uint64_t heartbeats = 0;
  Slot slot = 0;
  /// The how-manieth registration of the topology this was: a slot with a higher one has changed
  /// hands.
  std::uint64_t registration = 0;
  std::uint32_t suspect_count = 0;
  std::vector<LogTime> suspected_at;  ///< Newest last, at most kFlapHistoryMax.
  /// By an operator, and only an operator takes it back; see Topology::drains().
  bool drain_requested = false;
  std::vector<Generation> retired;  ///< Newest last, at most kRetiredMax.

  bool operator==(const NodeEntry&) const = default;
};

/// A node that was removed: the generations that must not displace its successor.
struct Departed {
  NodeId id;
  std::vector<Generation> generations;  ///< Newest last, at most kRetiredMax.

  bool operator==(const Departed&) const = default;
};

struct RingConfig {
  std::uint32_t virtual_nodes_per_physical = 16;
  std::uint32_t replication_factor = 3;
  std::string unknown;

  bool operator==(const RingConfig&) const = default;
};
/// "16 virtual nodes per node, replication 3"
[[nodiscard]] std::string to_string(const RingConfig& ring);

}  // namespace muster::membership
