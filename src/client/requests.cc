#include "client/requests.h"

#include "client/wire.h"
#include "core/cluster/reachability.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/observe.pb.h"

namespace muster::client {
namespace {

/// As the server says; an older one leaves it to us.
std::string role_of(const v1::ServerInfo& server) {
  if (!server.role().empty()) return server.role();
  if (server.leader()) return "leader";
  const std::chrono::milliseconds silent(server.silent_ms());
  return role_of(cluster::presence(silent, true));
}

template <typename Message>
WireRequest wire(const char* method, const Message& message, Effect effect, Aim aim) {
  return {method, message.SerializeAsString(), effect, aim, {}};
}

template <typename Message>
Result<Message> parse(const std::string& body) {
  Message message;
  if (!message.ParseFromString(body)) {
    return {Errc::kCorrupt,
            "the server's answer cannot be decoded; check that the server is a "
            "musterd"};
  }
  return message;
}

}  // namespace

const char* to_string(ServerRole role) {
  switch (role) {
    case ServerRole::kFollower:
      return "FOLLOWER";
    case ServerRole::kCandidate:
      return "CANDIDATE";
    case ServerRole::kLeader:
      return "LEADER";
    default:
      return "UNKNOWN";
  }
}

WireRequest encode(const GetTopology& request) {
  v1::GetTopologyRequest message;
  message.set_linearizable(request.linearizable);
  message.set_service(request.services.text());
  return wire("/muster.v1.CoordinatorService/GetTopology", message, Effect::kRead, Aim::kAny);
}

WireRequest encode(const RegisterNode& request) {
  v1::RegisterNodeRequest message;
  write_spec(request.node, *message.mutable_node());
  return wire("/muster.v1.CoordinatorService/RegisterNode", message, Effect::kIdempotent,
              Aim::kLeader);
}

WireRequest encode(const DeregisterNode& request) {
  v1::DeregisterNodeRequest message;
  message.set_node_id(request.id.value());
  message.set_generation_id(request.generation.value());
  // Without a generation a second one might take out who has registered since.
  const Effect effect = request.generation.value().empty() ? Effect::kOnce : Effect::kIdempotent;
  WireRequest encoded =
      wire("/muster.v1.CoordinatorService/DeregisterNode", message, effect, Aim::kLeader);
  encoded.done_when = RpcCode::kNotFound;
  return encoded;
}

WireRequest encode(const Heartbeat& request) {
  v1::HeartbeatRequest message;
  message.set_node_id(request.id.value());
  message.set_generation_id(request.generation.value());
  message.set_reported_state(static_cast<v1::NodeState>(request.reported));
  message.set_known_version(request.known_version.value());
  return wire("/muster.v1.CoordinatorService/Heartbeat", message, Effect::kIdempotent,
              Aim::kLeader);
}

WireRequest encode(const HealthCheck& /*request*/) {
  return wire("/muster.v1.CoordinatorService/HealthCheck", v1::HealthCheckRequest(), Effect::kRead,
              Aim::kAny);
}

WireRequest encode(const DrainNode& request) {
  v1::DrainNodeRequest message;
  message.set_node_id(request.id.value());
  message.set_cancel(request.cancel);
  return wire("/muster.v1.AdminService/DrainNode", message, Effect::kIdempotent, Aim::kLeader);
}

WireRequest encode(const SetHashRing& request) {
  v1::SetHashRingRequest message;
  message.mutable_config()->set_virtual_nodes_per_physical(request.ring.virtual_nodes);
  message.mutable_config()->set_replication_factor(request.ring.replication);
  return wire("/muster.v1.AdminService/SetHashRing", message, Effect::kIdempotent, Aim::kLeader);
}

WireRequest encode(const ListServers& /*request*/) {
  return wire("/muster.v1.AdminService/ListServers", v1::ListServersRequest(), Effect::kRead,
              Aim::kAny);
}

WireRequest encode(const TransferLeadership& request) {
  v1::TransferLeadershipRequest message;
  message.set_to(request.to);
  return wire("/muster.v1.AdminService/TransferLeadership", message, Effect::kOnce, Aim::kLeader);
}

WireRequest encode(const RemoveServer& request) {
  v1::RemoveServerRequest message;
  message.set_id(request.id);
  WireRequest encoded =
      wire("/muster.v1.AdminService/RemoveServer", message, Effect::kIdempotent, Aim::kLeader);
  encoded.done_when = RpcCode::kNotFound;
  return encoded;
}

WireRequest encode(const MoveLog& request) {
  v1::MoveRequest message;
  message.set_engine(request.engine);
  return wire("/muster.v1.AdminService/Move", message, Effect::kOnce, Aim::kLeader);
}

WireRequest encode(const Explain& request) {
  v1::ExplainRequest message;
  message.set_subject(request.subject);
  message.set_since(request.since);
  return wire("/muster.v1.ObserveService/Explain", message, Effect::kRead, Aim::kAny);
}

WireRequest encode(const SetLogLevel& request) {
  v1::SetLogLevelRequest message;
  message.set_level(request.level);
  return wire("/muster.v1.ObserveService/SetLogLevel", message, Effect::kIdempotent, Aim::kAny);
}

template <>
Result<TopologyImage> decode<GetTopology>(const std::string& body) {
  const auto message = parse<v1::GetTopologyResponse>(body);
  if (!message) return message.error();
  return read_topology(*message);
}

template <>
Result<Registration> decode<RegisterNode>(const std::string& body) {
  const auto message = parse<v1::RegisterNodeResponse>(body);
  if (!message) return message.error();
  return Registration{TopologyVersion(message->topology_version()), message->already_registered()};
}

template <>
Result<TopologyVersion> decode<DeregisterNode>(const std::string& body) {
  const auto message = parse<v1::DeregisterNodeResponse>(body);
  if (!message) return message.error();
  return TopologyVersion(message->topology_version());
}

template <>
Result<HeartbeatAnswer> decode<Heartbeat>(const std::string& body) {
  const auto message = parse<v1::HeartbeatResponse>(body);
  if (!message) return message.error();
  return HeartbeatAnswer{TopologyVersion(message->current_version()), message->refresh_required(),
                         message->leader_id(), message->leader_address(),
                         Epoch(message->raft_term())};
}

template <>
Result<Health> decode<HealthCheck>(const std::string& body) {
  const auto message = parse<v1::HealthCheckResponse>(body);
  if (!message) return message.error();
  Health health;
  health.healthy = message->healthy();
  health.role = static_cast<ServerRole>(message->raft_state());
  health.epoch = Epoch(message->raft_term());
  health.committed_index = message->committed_index();
  health.applied_index = message->applied_index();
  health.leader_id = message->leader_id();
  health.leader_address = message->leader_address();
  health.topology_version = TopologyVersion(message->topology_version());
  health.active_nodes = message->active_nodes();
  health.suspect_nodes = message->suspect_nodes();
  health.down_nodes = message->down_nodes();
  health.watch_subscribers = message->watch_subscribers();
  health.reason = message->reason();
  health.server_id = message->server_id();
  return health;
}

template <>
Result<TopologyVersion> decode<DrainNode>(const std::string& body) {
  const auto message = parse<v1::DrainNodeResponse>(body);
  if (!message) return message.error();
  return TopologyVersion(message->topology_version());
}

template <>
Result<TopologyVersion> decode<SetHashRing>(const std::string& body) {
  const auto message = parse<v1::SetHashRingResponse>(body);
  if (!message) return message.error();
  return TopologyVersion(message->topology_version());
}

template <>
Result<ServerList> decode<ListServers>(const std::string& body) {
  const auto message = parse<v1::ListServersResponse>(body);
  if (!message) return message.error();
  ServerList list{{}, message->engine(), message->crl_option()};
  for (const v1::ServerInfo& server : message->servers()) {
    list.servers.push_back({server.id(), server.address(), server.leader(), server.version(),
                            wall_from_ms(server.announced_at()),
                            std::chrono::milliseconds(server.silent_ms()), server.command_level(),
                            role_of(server)});
  }
  return list;
}

template <>
Result<std::string> decode<TransferLeadership>(const std::string& body) {
  const auto message = parse<v1::TransferLeadershipResponse>(body);
  if (!message) return message.error();
  return message->from();
}

template <>
Result<Done> decode<RemoveServer>(const std::string& body) {
  const auto message = parse<v1::RemoveServerResponse>(body);
  if (!message) return message.error();
  return Done{};
}

template <>
Result<std::uint64_t> decode<MoveLog>(const std::string& body) {
  const auto message = parse<v1::MoveResponse>(body);
  if (!message) return message.error();
  return message->sealed_index();
}

template <>
Result<Explanation> decode<Explain>(const std::string& body) {
  const auto message = parse<v1::ExplainResponse>(body);
  if (!message) return message.error();
  Explanation answer;
  answer.newest = message->newest();
  answer.version = TopologyVersion(message->topology_version());
  if (message->has_node()) answer.node = read_node(message->node());
  for (const v1::DecisionRecord& in : message->decisions()) {
    const auto ms = [](std::uint64_t count) { return std::chrono::milliseconds(count); };
    answer.decisions.push_back(
        {in.seq(), wall_from_ms(in.at()), in.kind(), in.subject(), in.from(), in.to(), in.cause(),
         in.text(), in.asked_by(), in.epoch(), wall_from_ms(in.last_heartbeat_at()),
         ms(in.silence_ms()), ms(in.suspect_after_ms()), ms(in.down_after_ms()), in.damped(),
         ms(in.listened_ms()), ms(in.grace_ms()), in.down_allowed(), in.down_in_use()});
  }
  return answer;
}

template <>
Result<std::string> decode<SetLogLevel>(const std::string& body) {
  const auto message = parse<v1::SetLogLevelResponse>(body);
  if (!message) return message.error();
  return message->previous();
}

}  // namespace muster::client
