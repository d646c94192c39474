#include "server/heartbeat/batcher.h"

#include <utility>

namespace muster::server {
namespace {

/// At two bytes a beat, far below what an entry of the log may hold.
constexpr std::size_t kBeatsMax = 50'000;

}  // namespace

void HeartbeatBatcher::note(const membership::NodeEntry& node, membership::NodeState reported) {
  beats_[node.slot] = {node.registration, reported};
}

std::vector<membership::BatchHeartbeat> HeartbeatBatcher::take(
    const membership::Topology& topology) {
  std::vector<membership::BatchHeartbeat> commands;
  for (const auto& [slot, noted] : std::exchange(beats_, {})) {
    const membership::NodeEntry* node = topology.at(slot);
    if (node == nullptr || node->registration != noted.registration) continue;
    if (commands.empty() || commands.back().beats.size() >= kBeatsMax) {
      commands.push_back({topology.registrations(), {}, {}});
    }
    commands.back().beats.push_back({slot, noted.reported});
  }
  return commands;
}

}  // namespace muster::server
