#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/membership/commands.h"
#include "core/membership/topology.h"

namespace muster::server {

/// Gathers heartbeats into few commands: one beat for each node, however often it was heard, with
/// its last reported state. Holds at most one beat for each slot. Pure. Threads: one.
class HeartbeatBatcher {
 public:
  /// A heartbeat that Topology::check_heartbeat accepted.
  void note(const membership::NodeEntry& node, membership::NodeState reported);

  /// Returns the gathered beats as commands of bounded size, and begins anew. Omits beats of nodes
  /// that have been replaced since.
  [[nodiscard]] std::vector<membership::BatchHeartbeat> take(const membership::Topology& topology);

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Noted {
    std::uint64_t registration = 0;  ///< 0: none was heard.
    membership::NodeState reported = membership::NodeState::kUnknown;
  };
  std::vector<Noted> beats_;  ///< By slot.
  std::size_t size_ = 0;
};

}  // namespace muster::server
