#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"

namespace muster::membership {

/// The numbers are in the wire contract and in stored bytes; they never change.
enum class NodeState : std::uint8_t {
  kUnknown = 0,
  kActive = 1,
  kJoining = 2,
  kDraining = 3,
  kDown = 4,
  kSuspect = 5,
};
inline constexpr std::size_t kNodeStates = 6;

/// The services that had numbers before services had names. Nodes of all others are kUnknown here.
enum class NodeType : std::uint8_t { kUnknown = 0, kFrontend = 1, kMetadata = 2, kObject = 3 };
/// What a node says about itself, by key.
using Tags = std::map<std::string, std::string>;

/// "ACTIVE", "OBJECT" …; a value of a newer server reads "UNKNOWN".
[[nodiscard]] const char* to_string(NodeState state);
[[nodiscard]] const char* to_string(NodeType type);
/// "object" … in any case. kInvalid lists what there is.
[[nodiscard]] Result<NodeType> parse_node_type(const std::string& text);
[[nodiscard]] Result<NodeState> parse_node_state(const std::string& text);

using muster::LogTime;

/// The log time from `then` to `now`, at least 0 and at most `cap`. The cap is necessary because
/// servers of 0.1 moved log time by their wall clocks, perhaps by years.
[[nodiscard]] Duration log_age(LogTime now, LogTime then, Duration cap);

/// One run of one node: the UUID that its process made at start.
struct GenerationTag {};
using Generation = Strong<GenerationTag, std::string>;

/// A small number for a node while it is registered, so that a heartbeat batch costs a byte or two
/// per node. The smallest free one is used; it is free again after removal.
using Slot = std::uint32_t;
/// The maximum number of nodes. It also bounds the memory for a damaged snapshot.
inline constexpr Slot kSlotsMax = 1U << 20;

/// A node's own description when it registers.
struct NodeSpec {
  NodeId id;
  std::string address;
  std::uint32_t port = 0;
  NodeType type = NodeType::kUnknown;
  Generation generation;
  std::uint32_t weight = 1;
  /// Empty if `type` says it; service_of() knows both.
  std::string service{};
  Tags tags{};
  /// Fields of a newer server, in wire form. They travel from the registration into the entry and
  /// into snapshots, so that a rollback and the next upgrade lose nothing.
  std::string unknown{};

  bool operator==(const NodeSpec&) const = default;
};
/// "object" …, or the name with which it registered; "unknown" if the type is of a newer server.
[[nodiscard]] std::string_view service_of(NodeType type, std::string_view service);
[[nodiscard]] std::string_view service_of(const NodeSpec& node);
/// Makes the node one of that service, by its type if the service has one.
void set_service(NodeSpec& node, std::string_view service);
/// Whether servers up to level 2 know everything about the node.
[[nodiscard]] bool has_only_a_type(const NodeSpec& node);
/// address:port for people, with the brackets that an IPv6 address needs.
[[nodiscard]] std::string endpoint(const NodeSpec& node);

/// Suspicions remembered per node, and the maximum of flap_threshold.
inline constexpr std::size_t kFlapHistoryMax = 16;
/// Replaced generations remembered per node, to refuse their late registrations.
inline constexpr std::size_t kRetiredMax = 4;
/// The number of recently removed nodes whose replaced generations are remembered.
inline constexpr std::size_t kDepartedMax = 256;
/// Drains of unregistered nodes that are remembered until the nodes come back.
inline constexpr std::size_t kAbsentDrainsMax = 4096;

/// A node as every replica stores it.
struct NodeEntry : NodeSpec {
  NodeState state = NodeState::kJoining;
  LogTime state_since{};
  LogTime registered_at{};
  LogTime last_heartbeat_at{};  ///< Registering counts as the first sign of life.
  /// Heartbeats of this generation. Two may come within one millisecond; the count still shows
  /// whether the node was heard since a decision was made.
  std::uint64_t heartbeats = 0;
  Slot slot = 0;
  /// The number of this registration in the topology: a slot with a higher number has another
  /// node.
  std::uint64_t registration = 0;
  std::uint32_t suspect_count = 0;
  std::vector<LogTime> suspected_at;  ///< Newest last, at most kFlapHistoryMax.
  /// By an operator, and only an operator can end it; see Topology::drains().
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
