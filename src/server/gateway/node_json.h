#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "muster/v1/coordinator.pb.h"
#include "server/gateway/json_message.h"

/// Nodes below /v1: a node names its service, whatever field of the contract holds it.
namespace muster::server {

/// The nodes that a query asks for.
struct NodeFilter {
  std::string state{};                 ///< As in the contract, without its prefix; empty: in any.
  std::string tag{};                   ///< The key of a tag that they have; empty: none is needed.
  std::optional<std::string> value{};  ///< Of that tag; none: any.

  /// kInvalid if there is no such state.
  [[nodiscard]] static Result<NodeFilter> parse(const std::map<std::string, std::string>& query);
};

/// A node at log time `now`: its fields, its service, and ages instead of log times.
[[nodiscard]] Json node_json(const v1::NodeInfo& node, std::int64_t now);
/// A topology with the nodes that match, by their ids.
[[nodiscard]] Json nodes_json(const v1::GetTopologyResponse& topology, const NodeFilter& filter);
/// Null if the topology has no such node.
[[nodiscard]] Json one_node_json(const v1::GetTopologyResponse& topology, const std::string& id);

/// Calls `f` with every node of the topology.
void for_each_node(const v1::GetTopologyResponse& topology,
                   const std::function<void(const v1::NodeInfo&)>& f);

/// The request that registers node `id` with what the body says. kInvalid names the field.
[[nodiscard]] Result<v1::RegisterNodeRequest> registration(const std::string& id, const Json& body);

}  // namespace muster::server
