#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/client/agent_machine.h"
#include "core/client/node.h"
#include "core/client/topology_cache.h"

namespace muster::v1 {
class GetTopologyResponse;
class NodeInfo;
}  // namespace muster::v1

/// Conversions between the messages of proto/muster/v1 and Muster's types, shared by several files.
namespace muster::client {

void write_spec(const NodeSpec& spec, v1::NodeInfo& message);
[[nodiscard]] Node read_node(const v1::NodeInfo& message);
[[nodiscard]] TopologyImage read_topology(const v1::GetTopologyResponse& message);

[[nodiscard]] std::string encode_watch(TopologyVersion since, const std::string& history,
                                       const ServiceFilter& services);
/// Returns kCorrupt if the bytes are not a message of a watch.
[[nodiscard]] Result<TopologyUpdate> decode_update(const std::string& body);

/// The leader's answer to one batch of heartbeats.
struct BeatsAnswer {
  TopologyVersion current_version;
  std::string leader_address;
  std::vector<BeatRefusal> refusals;
};
[[nodiscard]] std::string encode_beats(const std::vector<AgentBeat>& beats,
                                       TopologyVersion known_version);
[[nodiscard]] Result<BeatsAnswer> decode_beats_answer(const std::string& body);

[[nodiscard]] Result<std::string> decode_chunk(const std::string& body);

}  // namespace muster::client
