#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "rpc/call.h"
#include "server/security/access_control.h"

namespace muster::server {

/// The heartbeats of one message that their sender may send. One that it may not is refused alone:
/// an agent that carries a thousand nodes must not lose them all over one. Loop thread only.
class ScreenedBeats {
 public:
  ScreenedBeats(AccessControl& access, rpc::CallPtr call, v1::HeartbeatBatch batch);

  /// What is left, in order.
  [[nodiscard]] const v1::HeartbeatBatch& batch() const { return batch_; }
  /// Nothing was refused: it is what the client sent.
  [[nodiscard]] bool whole() const { return refused_.empty(); }
  /// Adds what was refused here to the answer about what was left, whose positions are put right.
  void complete(v1::HeartbeatBatchResponse& response) const;
  /// What is left, for its memory; only when all has been answered.
  [[nodiscard]] v1::HeartbeatBatch take() { return std::move(batch_); }
  /// Nobody leads: they cost nothing.
  void give_back() const;

 private:
  AccessControl& access_;
  rpc::CallPtr call_;
  v1::HeartbeatBatch batch_;
  std::vector<std::uint32_t> positions_;  ///< Of what is left, in what was sent; empty when whole.
  std::vector<v1::HeartbeatRefusal> refused_;
};

}  // namespace muster::server
