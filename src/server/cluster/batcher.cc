#include "server/cluster/batcher.h"

#include <utility>

namespace muster::server {
namespace {

/// At two bytes a beat, far below what an entry of the log may hold.
constexpr std::size_t kBeatsMax = 50'000;

}  // namespace

void HeartbeatBatcher::note(const membership::NodeEntry& node, membership::NodeState reported) {
  if (node.slot >= beats_.size()) beats_.resize(node.slot + 1);
  Noted& noted = beats_[node.slot];
  if (noted.registration == 0) ++size_;
  noted = {node.registration, reported};
}

std::vector<membership::BatchHeartbeat> HeartbeatBatcher::take(
    const membership::Topology& topology) {
  std::vector<membership::BatchHeartbeat> commands;
  if (size_ == 0) return commands;
  size_ = 0;
  for (membership::Slot slot = 0; slot < beats_.size(); ++slot) {
    const Noted noted = std::exchange(beats_[slot], {});
    if (noted.registration == 0) continue;
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
