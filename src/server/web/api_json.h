#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "server/web/picture.h"
#include "server/web/ring_picture.h"

/// Pictures as the JSON of /api, with the names that docs/observing.md lists.
namespace muster::server {

using Json = nlohmann::ordered_json;
using Shares = std::unordered_map<std::string, double>;

/// What every answer begins with: server, version, staleMs.
[[nodiscard]] Json beginning(const Overview& overview);
/// An answer: what all answers say about the picture, and `more`.
[[nodiscard]] Json with(const Picture& picture, const Json& more);
[[nodiscard]] Json to_json(const Overview& overview);
[[nodiscard]] Json to_json(const NodeRow& row, const Shares& shares);
[[nodiscard]] Json to_json(const cluster::Decision& decision);
[[nodiscard]] Json to_json(const NamespaceRow& row);
[[nodiscard]] Json to_json(const Sample& sample);
/// Equally long arrays, one for each line.
[[nodiscard]] Json series_json(const std::vector<Sample>& samples);
/// At most `points_max` of its points, evenly thinned.
[[nodiscard]] Json to_json(const RingPicture& ring, std::size_t points_max);
[[nodiscard]] Json to_json(const RingPlan& plan, std::size_t moves_max);

/// Bytes that are no text are replaced, never refused.
[[nodiscard]] std::string dump(const Json& json);

}  // namespace muster::server
