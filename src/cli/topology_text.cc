#include "cli/topology_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/event_text.h"
#include "cli/terminal.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;
using client::Node;
using client::NodeState;
using client::NodeType;

Json nodes_json(const std::vector<Node>& nodes, NodeType type) {
  Json json = Json::array();
  for (const Node& node : nodes) {
    if (node.type == type) json.push_back(node_json(node));
  }
  return json;
}

}  // namespace

std::vector<Node> by_id(std::vector<Node> nodes) {
  std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.id < b.id; });
  return nodes;
}

std::string state_text(const Node& node) {
  const char* const drain =
      node.state == NodeState::kDraining ? " (by an operator)" : " (to be drained)";
  return std::string(membership::to_string(node.state)) + (node.drain_requested ? drain : "");
}

std::string age_text(std::optional<Duration> age) {
  return age ? format_duration(std::chrono::floor<std::chrono::seconds>(*age)) : "-";
}

std::string ago(std::optional<Duration> age) {
  return age ? age_text(age) + " ago" : "-";
}

std::string place(const Node& node) {
  membership::NodeSpec spec;
  spec.address = node.address;
  spec.port = node.port;
  return membership::endpoint(spec);
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json node_json(const Node& node) {
  return {{"id", node.id.value()},
          {"address", node.address},
          {"port", node.port},
          {"state", membership::to_string(node.state)},
          {"type", membership::to_string(node.type)},
          {"last_heartbeat_at", to_ms(node.last_heartbeat_at)},
          {"suspect_count", node.suspect_count},
          {"generation_id", node.generation.value()},
          {"registered_at", to_ms(node.registered_at)},
          {"weight", node.weight},
          {"state_since", to_ms(node.state_since)},
          {"drain_requested", node.drain_requested},
          {"service", service_of(node)},
          {"tags", node.tags.empty() ? Json::object() : Json(node.tags)}};
}

Json topology_json(const client::TopologyImage& topology) {
  const std::vector<Node> nodes = by_id(topology.nodes);
  return {{"version", topology.version.value()},
          {"frontend_nodes", nodes_json(nodes, NodeType::kFrontend)},
          {"metadata_nodes", nodes_json(nodes, NodeType::kMetadata)},
          {"object_nodes", nodes_json(nodes, NodeType::kObject)},
          {"nodes", nodes_json(nodes, NodeType::kUnknown)},
          {"hash_ring_config",
           {{"virtual_nodes_per_physical", topology.ring.virtual_nodes},
            {"replication_factor", topology.ring.replication}}},
          {"leader_id", topology.leader_id},
          {"age_ms", to_ms(topology.age)}};
}

std::string tags_text(const membership::Tags& tags) {
  std::string text;
  for (const auto& [key, value] : tags) text += (text.empty() ? "" : " ") + key + "=" + value;
  return text.empty() ? "-" : text;
}

std::string node_table(const std::vector<Node>& nodes) {
  const bool tagged =
      std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return !node.tags.empty(); });
  std::vector<std::vector<std::string>> table{
      {"ID", "SERVICE", "STATE", "ADDRESS", "HEARTBEAT", "GENERATION"}};
  if (tagged) table[0].emplace_back("TAGS");
  for (const Node& node : nodes) {
    table.push_back({node.id.value(), std::string(service_of(node)), state_text(node), place(node),
                     ago(node.heartbeat_age), node.generation.value()});
    if (tagged) table.back().push_back(tags_text(node.tags));
  }
  return format_table(table);
}

Json event_json(const client::WatchEvent& event, WallTime now) {
  using client::WatchEventKind;
  Json json = {{"event", to_string(event.kind)}, {"version", event.view->version().value()}};
  switch (event.kind) {
    case WatchEventKind::kSnapshot: {
      client::TopologyImage image{event.view->version(), {}, event.view->ring(), {}, {}};
      event.view->for_each([&](const Node& node) { image.nodes.push_back(node); });
      const Json whole = topology_json(image);
      for (const char* name :
           {"frontend_nodes", "metadata_nodes", "object_nodes", "nodes", "hash_ring_config"}) {
        json[name] = whole[name];
      }
      break;
    }
    case WatchEventKind::kNodeAdded:
    case WatchEventKind::kNodeUpdated:
    case WatchEventKind::kNodeRemoved:
      json["node"] = node_json(event.node);
      break;
    case WatchEventKind::kRingChanged:
      json["hash_ring_config"] = {{"virtual_nodes_per_physical", event.view->ring().virtual_nodes},
                                  {"replication_factor", event.view->ring().replication}};
      break;
    case WatchEventKind::kLagged:
    case WatchEventKind::kDisconnected:
      json["reason"] = event.reason;
      break;
  }
  json["time"] = to_ms(now);
  return json;
}

std::string event_text(const client::WatchEvent& event, WallTime now) {
  using client::WatchEventKind;
  std::string text = format_time(now) + " " + to_string(event.kind) + " version " +
                     std::to_string(event.view->version().value());
  switch (event.kind) {
    case WatchEventKind::kSnapshot:
      return text + ", " + std::to_string(event.view->size()) + " nodes, " +
             std::to_string(event.view->ring_size()) + " in the ring";
    case WatchEventKind::kNodeAdded:
    case WatchEventKind::kNodeUpdated:
    case WatchEventKind::kNodeRemoved:
      return text + " " + event.node.id.value() + " " + membership::to_string(event.node.state) +
             " " + place(event.node);
    case WatchEventKind::kRingChanged:
      return text + ", " + std::to_string(event.view->ring().virtual_nodes) +
             " virtual nodes, replication " + std::to_string(event.view->ring().replication);
    case WatchEventKind::kLagged:
    case WatchEventKind::kDisconnected:
      return text + ": " + event.reason;
  }
  return text;
}

}  // namespace muster::cli
