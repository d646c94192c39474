#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/client/node.h"
#include "core/client/watch_machine.h"

/// Nodes and topologies as `muster` prints them. JSON has the names of proto/muster/v1.
namespace muster::cli {

[[nodiscard]] std::vector<client::Node> by_id(std::vector<client::Node> nodes);
[[nodiscard]] nlohmann::ordered_json node_json(const client::Node& node);
/// Sorted by id.
[[nodiscard]] nlohmann::ordered_json topology_json(const client::TopologyImage& topology);
[[nodiscard]] std::string dump(const nlohmann::ordered_json& json);

/// A heading and a row for each node, in the order given. Tags are a column if a node has any.
[[nodiscard]] std::string node_table(const std::vector<client::Node>& nodes);

/// Parts of such a row: its state, with who asked for it; for how long, and how long ago ("-" when
/// that is unknown); where it is reached.
[[nodiscard]] std::string state_text(const client::Node& node);
[[nodiscard]] std::string age_text(std::optional<Duration> age);
[[nodiscard]] std::string ago(std::optional<Duration> age);
[[nodiscard]] std::string place(const client::Node& node);

[[nodiscard]] nlohmann::ordered_json event_json(const client::WatchEvent& event, WallTime now);
[[nodiscard]] std::string event_text(const client::WatchEvent& event, WallTime now);

}  // namespace muster::cli
