#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "rpc/call.h"
#include "server/security/access_control.h"

namespace muster::server {

/// The heartbeats of one message that their sender may send. Others are refused one by one: an
/// agent that carries a thousand nodes must not lose them all because of one. Loop thread only.
class ScreenedBeats {
 public:
  ScreenedBeats(AccessControl& access, rpc::CallPtr call, v1::HeartbeatBatch batch);

  /// The accepted ones, in order.
  [[nodiscard]] const v1::HeartbeatBatch& batch() const { return batch_; }
  /// Nothing was refused: the batch is as the client sent it.
  [[nodiscard]] bool whole() const { return refused_.empty(); }
  /// Adds the refusals to the answer about the accepted ones, and corrects the positions.
  void complete(v1::HeartbeatBatchResponse& response) const;
  /// Takes the batch for its memory; only when all has been answered.
  [[nodiscard]] v1::HeartbeatBatch take() { return std::move(batch_); }
  /// There is no leader: gives back their tokens.
  void give_back() const;

 private:
  AccessControl& access_;
  rpc::CallPtr call_;
  v1::HeartbeatBatch batch_;
  std::vector<std::uint32_t> positions_;  ///< Of what is left, in what was sent; empty when whole.
  std::vector<v1::HeartbeatRefusal> refused_;
};

}  // namespace muster::server
