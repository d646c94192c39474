#include "client/wire.h"

#include <algorithm>

#include "muster/v1/admin.pb.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::client {
namespace {

Error unreadable(const char* what) {
  return {Errc::kCorrupt, std::string("the server's ") + what +
                              " cannot be decoded; check that the server is a "
                              "musterd"};
}

RingConfig read_ring(const v1::HashRingConfig& message) {
  return {message.virtual_nodes_per_physical(), message.replication_factor()};
}

decltype(TopologyUpdate::what) read_change(const v1::TopologyUpdate& message) {
  switch (message.update_case()) {
    case v1::TopologyUpdate::kNodeAdded:
      return NodeAdded{read_node(message.node_added())};
    case v1::TopologyUpdate::kNodeUpdated:
      return NodeUpdated{read_node(message.node_updated())};
    case v1::TopologyUpdate::kNodeRemoved:
      return NodeRemoved{read_node(message.node_removed())};
    case v1::TopologyUpdate::kFullSync:
      return FullSync{read_topology(message.full_sync())};
    case v1::TopologyUpdate::kKeepalive:
      return Keepalive{};
    case v1::TopologyUpdate::kLagged:
      return Lagged{TopologyVersion(message.lagged().current_version()),
                    message.lagged().missed_updates(), message.lagged().message()};
    case v1::TopologyUpdate::kRingChanged:
      return RingChanged{read_ring(message.ring_changed())};
    case v1::TopologyUpdate::UPDATE_NOT_SET:
      break;
  }
  return Foreign{};
}

/// By log time; a time after `now` is one that a server has just heard of.
Duration age(std::int64_t now_ms, std::int64_t then_ms) {
  return std::chrono::milliseconds(std::max<std::int64_t>(0, now_ms - then_ms));
}

}  // namespace

void write_spec(const NodeSpec& spec, v1::NodeInfo& message) {
  message.set_id(spec.id.value());
  message.set_address(spec.address);
  message.set_port(spec.port);
  message.set_type(static_cast<v1::NodeType>(spec.type));
  message.set_generation_id(spec.generation.value());
  message.set_weight(spec.weight);
  message.set_service(spec.service);
  for (const auto& [key, value] : spec.tags) (*message.mutable_tags())[key] = value;
}

Node read_node(const v1::NodeInfo& message) {
  Node node;
  node.id = NodeId(message.id());
  node.address = message.address();
  node.port = message.port();
  node.type = static_cast<NodeType>(message.type());
  node.service = message.service();
  node.tags.insert(message.tags().begin(), message.tags().end());
  node.state = static_cast<NodeState>(message.state());
  node.generation = Generation(message.generation_id());
  node.weight = message.weight();
  node.drain_requested = message.drain_requested();
  node.suspect_count = message.suspect_count();
  node.registered_at = wall_from_ms(message.registered_at());
  node.state_since = wall_from_ms(message.state_since());
  node.last_heartbeat_at = wall_from_ms(message.last_heartbeat_at());
  return node;
}

TopologyImage read_topology(const v1::GetTopologyResponse& message) {
  TopologyImage image;
  image.version = TopologyVersion(message.version());
  for (const auto* nodes : {&message.frontend_nodes(), &message.metadata_nodes(),
                            &message.object_nodes(), &message.nodes()}) {
    for (const v1::NodeInfo& node : *nodes) {
      Node& read = image.nodes.emplace_back(read_node(node));
      if (message.log_ms() == 0) continue;  // A server of 0.1 tells no ages.
      read.heartbeat_age = age(message.log_ms(), node.last_heartbeat_log_ms());
      read.state_age = age(message.log_ms(), node.state_since_log_ms());
    }
  }
  image.ring = read_ring(message.hash_ring_config());
  image.leader_id = message.leader_id();
  image.age = std::chrono::milliseconds(message.age_ms());
  image.history = message.history();
  return image;
}

std::string encode_watch(TopologyVersion since, const std::string& history,
                         const ServiceFilter& services) {
  v1::WatchTopologyRequest message;
  message.set_since_version(since.value());
  message.set_history(history);
  message.set_service(services.text());
  return message.SerializeAsString();
}

Result<TopologyUpdate> decode_update(const std::string& body) {
  v1::TopologyUpdate message;
  if (!message.ParseFromString(body)) return unreadable("update");
  return TopologyUpdate{TopologyVersion(message.version()),
                        TopologyVersion(message.previous_version()), read_change(message)};
}

std::string encode_beats(const std::vector<AgentBeat>& beats, TopologyVersion known_version) {
  v1::HeartbeatBatch message;
  message.mutable_heartbeats()->Reserve(static_cast<int>(beats.size()));
  for (const AgentBeat& beat : beats) {
    v1::HeartbeatRequest& heartbeat = *message.add_heartbeats();
    heartbeat.set_node_id(beat.node.value());
    heartbeat.set_generation_id(beat.generation.value());
    heartbeat.set_reported_state(static_cast<v1::NodeState>(beat.reported));
    heartbeat.set_known_version(known_version.value());
  }
  return message.SerializeAsString();
}

Result<BeatsAnswer> decode_beats_answer(const std::string& body) {
  v1::HeartbeatBatchResponse message;
  if (!message.ParseFromString(body)) return unreadable("answer to heartbeats");
  BeatsAnswer answer{TopologyVersion(message.current_version()), message.leader_address(), {}};
  for (const v1::HeartbeatRefusal& refusal : message.refused()) {
    answer.refusals.push_back({refusal.position(),
                               {static_cast<RpcCode>(refusal.code()),
                                refusal.message(),
                                Reach::kAnswered,
                                {},
                                refusal.replaced()}});
  }
  return answer;
}

Result<std::string> decode_chunk(const std::string& body) {
  v1::BackupChunk message;
  if (!message.ParseFromString(body)) return unreadable("backup");
  return std::move(*message.mutable_data());
}

}  // namespace muster::client
