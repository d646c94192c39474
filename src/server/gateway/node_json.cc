#include "server/gateway/node_json.h"

#include <algorithm>
#include <utility>

#include "core/membership/node.h"

namespace muster::server {
namespace {

constexpr std::string_view kStatePrefix = "NODE_STATE_";

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

bool matches(const NodeFilter& filter, const v1::NodeInfo& node) {
  const bool in_state = filter.state.empty() || v1::NodeState_Name(node.state()) ==
                                                    std::string(kStatePrefix) + filter.state;
  if (!in_state || filter.tag.empty()) return in_state;
  const auto tag = node.tags().find(filter.tag);
  return tag != node.tags().end() && (!filter.value || *filter.value == tag->second);
}

}  // namespace

Result<NodeFilter> NodeFilter::parse(const std::map<std::string, std::string>& query) {
  NodeFilter filter;
  if (const auto tag = query.find("tag"); tag != query.end()) {
    const auto equals = tag->second.find('=');
    filter.tag = tag->second.substr(0, equals);
    if (equals != std::string::npos) filter.value = tag->second.substr(equals + 1);
  }
  if (const auto state = query.find("state"); state != query.end()) {
    filter.state = upper(state->second);
    v1::NodeState known{};
    if (!v1::NodeState_Parse(std::string(kStatePrefix) + filter.state, &known)) {
      return {Errc::kInvalid, "state must be ACTIVE, JOINING, SUSPECT, DRAINING or DOWN"};
    }
  }
  return filter;
}

Json node_json(const v1::NodeInfo& node, std::int64_t now) {
  Json json = to_json(node);
  const auto type = static_cast<membership::NodeType>(node.type());
  Json shown{{"id", node.id()}, {"service", membership::service_of(type, node.service())}};
  for (const char* hidden :
       {"id", "type", "service", "last_heartbeat_log_ms", "state_since_log_ms"}) {
    json.erase(hidden);
  }
  shown.update(json);
  shown["heartbeat_age_ms"] = std::max<std::int64_t>(0, now - node.last_heartbeat_log_ms());
  shown["state_age_ms"] = std::max<std::int64_t>(0, now - node.state_since_log_ms());
  return shown;
}

void for_each_node(const v1::GetTopologyResponse& topology,
                   const std::function<void(const v1::NodeInfo&)>& f) {
  for (const auto* nodes : {&topology.frontend_nodes(), &topology.metadata_nodes(),
                            &topology.object_nodes(), &topology.nodes()}) {
    for (const v1::NodeInfo& node : *nodes) f(node);
  }
}

Json nodes_json(const v1::GetTopologyResponse& topology, const NodeFilter& filter) {
  std::vector<const v1::NodeInfo*> found;
  for_each_node(topology, [&](const v1::NodeInfo& node) {
    if (matches(filter, node)) found.push_back(&node);
  });
  std::sort(found.begin(), found.end(),
            [](const auto* a, const auto* b) { return a->id() < b->id(); });
  Json nodes = Json::array();
  for (const v1::NodeInfo* node : found) nodes.push_back(node_json(*node, topology.log_ms()));
  return {{"version", topology.version()},
          {"history", topology.history()},
          {"leader_id", topology.leader_id()},
          {"age_ms", topology.age_ms()},
          {"ring", to_json(topology.hash_ring_config())},
          {"nodes", std::move(nodes)}};
}

Json one_node_json(const v1::GetTopologyResponse& topology, const std::string& id) {
  Json found = nullptr;
  for_each_node(topology, [&](const v1::NodeInfo& node) {
    if (node.id() == id) found = node_json(node, topology.log_ms());
  });
  return found;
}

Result<v1::RegisterNodeRequest> registration(const std::string& id, const Json& body) {
  v1::RegisterNodeRequest request;
  v1::NodeInfo& node = *request.mutable_node();
  if (Status read = from_json(body, node); !read) return read.error();
  node.set_id(id);
  return request;
}

}  // namespace muster::server
