#include "server/api/screened_beats.h"

#include <utility>

namespace muster::server {

ScreenedBeats::ScreenedBeats(AccessControl& access, rpc::CallPtr call, v1::HeartbeatBatch batch)
    : access_(access), call_(std::move(call)), batch_(std::move(batch)) {
  for (int i = 0; i < batch_.heartbeats_size(); ++i) {
    const Status good = access_.check_beat(call_, batch_.heartbeats(i).node_id());
    if (good) continue;
    const rpc::RpcStatus status = rpc::to_status(good.error());
    v1::HeartbeatRefusal& refusal = refused_.emplace_back();
    refusal.set_position(static_cast<std::uint32_t>(i));
    refusal.set_code(static_cast<std::int32_t>(status.code));
    refusal.set_message(status.message);
  }
  if (refused_.empty()) return;
  v1::HeartbeatBatch left;
  std::size_t next_refused = 0;
  for (int i = 0; i < batch_.heartbeats_size(); ++i) {
    const auto position = static_cast<std::uint32_t>(i);
    if (next_refused < refused_.size() && refused_[next_refused].position() == position) {
      ++next_refused;
      continue;
    }
    positions_.push_back(position);
    left.add_heartbeats()->Swap(batch_.mutable_heartbeats(i));
  }
  batch_ = std::move(left);
}

void ScreenedBeats::complete(v1::HeartbeatBatchResponse& response) const {
  if (refused_.empty()) return;
  for (v1::HeartbeatRefusal& each : *response.mutable_refused()) {
    if (each.position() < positions_.size()) each.set_position(positions_[each.position()]);
  }
  for (const v1::HeartbeatRefusal& each : refused_) *response.add_refused() = each;
}

void ScreenedBeats::give_back() const {
  for (const v1::HeartbeatRequest& beat : batch_.heartbeats()) {
    access_.give_back_beat(call_, beat.node_id());
  }
}

}  // namespace muster::server
