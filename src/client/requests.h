#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/client/node.h"
#include "core/client/retry_plan.h"
#include "core/client/rpc_status.h"
#include "core/client/server_board.h"
#include "core/client/topology_cache.h"

/// The requests to musterd. Each request names the type of its answer.
namespace muster::client {

struct GetTopology {
  using Answer = TopologyImage;
  /// Not older than any acknowledged write. Otherwise from the copy of the server that answers.
  bool linearizable = false;
  ServiceFilter services{};
};

struct Registration {
  TopologyVersion version;
  bool already_registered = false;
};
struct RegisterNode {
  using Answer = Registration;
  NodeSpec node;
};

struct DeregisterNode {
  using Answer = TopologyVersion;
  NodeId id;
  Generation generation{};  ///< Only this one; empty: the registered one.
};

struct HeartbeatAnswer {
  TopologyVersion current_version;
  bool refresh_required = false;
  std::string leader_id;
  std::string leader_address;
  Epoch epoch;
};
struct Heartbeat {
  using Answer = HeartbeatAnswer;
  NodeId id;
  Generation generation;
  NodeState reported = NodeState::kActive;
  TopologyVersion known_version{};
};

/// The role of a server, by its number on the wire.
enum class ServerRole { kUnknown = 0, kFollower = 1, kCandidate = 2, kLeader = 3 };
[[nodiscard]] const char* to_string(ServerRole role);

struct Health {
  bool healthy = false;
  ServerRole role = ServerRole::kUnknown;
  Epoch epoch;
  std::uint64_t committed_index = 0;
  std::uint64_t applied_index = 0;
  std::string leader_id;
  std::string leader_address;
  TopologyVersion topology_version;
  std::uint64_t active_nodes = 0;
  std::uint64_t suspect_nodes = 0;
  std::uint64_t down_nodes = 0;
  std::uint64_t watch_subscribers = 0;
  std::string reason{};     ///< Why it is unhealthy; of a healthy server, what it lacks.
  std::string server_id{};  ///< Who answered; empty for older servers.
};
struct HealthCheck {
  using Answer = Health;
};

/// Takes a node out of the ring, or back into it. Lasts until cancelled, whatever happens to the
/// node. For operators.
struct DrainNode {
  using Answer = TopologyVersion;
  NodeId id;
  bool cancel = false;
};

/// Changes the hash ring of the cluster. For operators.
struct SetHashRing {
  using Answer = TopologyVersion;
  RingConfig ring;
};

struct ServerInfo {
  std::string id;
  std::string address;
  bool leader = false;
  std::string version;
  WallTime announced_at{};
  Duration silent{0};               ///< Since the leader last heard from it.
  std::uint64_t command_level = 0;  ///< Of the log commands that it supports.
  std::string role{};               ///< leader, follower, unreachable or unknown.
};
struct ServerList {
  std::vector<ServerInfo> servers;
  std::string engine{};      ///< file, etcd, managed or s3; empty: an older server does not say.
  std::string crl_option{};  ///< --crl-file, --crl-url or empty.
};
struct ListServers {
  using Answer = ServerList;
};

struct TransferLeadership {
  using Answer = std::string;  ///< The id of the previous leader.
  std::string to{};            ///< The id of a server; empty for any.
};

/// Removes a server that is gone for good, and its member of a managed engine.
struct RemoveServer {
  using Answer = Done;
  std::string id;
};

/// Continues the log in another engine. The servers end when it is done.
struct MoveLog {
  using Answer = std::uint64_t;  ///< The number of the last entry in the old engine.
  std::string engine;
};

/// One decision, as ObserveService reports it.
struct DecisionRecord {
  std::uint64_t seq = 0;
  WallTime at{};
  std::string kind;
  std::string subject;
  std::string from;
  std::string to;
  std::string cause;
  std::string text;
  std::string asked_by;
  std::uint64_t epoch = 0;
  WallTime last_heartbeat_at{};
  Duration silence{0};
  Duration suspect_after{0};
  Duration down_after{0};
  bool damped = false;
  Duration listened{0};
  Duration grace{0};
  std::uint64_t down_allowed = 0;
  std::uint64_t down_in_use = 0;
};
struct Explanation {
  std::vector<DecisionRecord> decisions;  ///< Rising.
  std::optional<Node> node;               ///< If the subject is a node.
  std::uint64_t newest = 0;
  TopologyVersion version;
};
/// Explains decisions.
struct Explain {
  using Answer = Explanation;
  std::string subject{};  ///< A node, "servers", "namespace=NAME"; empty for all.
  std::uint64_t since = 0;
};

/// Sets the log level of the server that gets the request.
struct SetLogLevel {
  using Answer = std::string;  ///< The previous level.
  std::string level;
};

/// One message to one method, and how it may be retried.
struct WireRequest {
  const char* method;
  std::string body;
  Effect effect;
  Aim aim;
  /// After an attempt that may have succeeded, this refusal proves that it did.
  std::optional<RpcCode> done_when{};
};

[[nodiscard]] WireRequest encode(const GetTopology& request);
[[nodiscard]] WireRequest encode(const RegisterNode& request);
[[nodiscard]] WireRequest encode(const DeregisterNode& request);
[[nodiscard]] WireRequest encode(const Heartbeat& request);
[[nodiscard]] WireRequest encode(const HealthCheck& request);
[[nodiscard]] WireRequest encode(const DrainNode& request);
[[nodiscard]] WireRequest encode(const SetHashRing& request);
[[nodiscard]] WireRequest encode(const ListServers& request);
[[nodiscard]] WireRequest encode(const TransferLeadership& request);
[[nodiscard]] WireRequest encode(const RemoveServer& request);
[[nodiscard]] WireRequest encode(const MoveLog& request);
[[nodiscard]] WireRequest encode(const Explain& request);
[[nodiscard]] WireRequest encode(const SetLogLevel& request);

/// Decodes an answer; kCorrupt if the bytes are not one. `Request` is the type of the request.
template <typename Request>
[[nodiscard]] Result<typename Request::Answer> decode(const std::string& body);
template <>
Result<TopologyImage> decode<GetTopology>(const std::string& body);
template <>
Result<Registration> decode<RegisterNode>(const std::string& body);
template <>
Result<TopologyVersion> decode<DeregisterNode>(const std::string& body);
template <>
Result<HeartbeatAnswer> decode<Heartbeat>(const std::string& body);
template <>
Result<Health> decode<HealthCheck>(const std::string& body);
template <>
Result<TopologyVersion> decode<DrainNode>(const std::string& body);
template <>
Result<TopologyVersion> decode<SetHashRing>(const std::string& body);
template <>
Result<ServerList> decode<ListServers>(const std::string& body);
template <>
Result<std::string> decode<TransferLeadership>(const std::string& body);

}  // namespace muster::client
