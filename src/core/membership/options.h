#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "core/membership/node.h"

namespace muster::membership {

/// The timeouts of failure detection. All servers of a cluster should have the same; each leader
/// uses its own.
struct Options {
  /// How often a node sends a heartbeat.
  Duration heartbeat_interval = 10s;
  /// Silence after which an ACTIVE node is SUSPECT.
  Duration suspect_timeout = 45s;
  /// Silence, from the same last heartbeat, after which a SUSPECT or DRAINING node is DOWN.
  Duration down_timeout = 90s;
  /// How long a node may stay JOINING before it is removed.
  Duration joining_timeout = 5min;
  /// After an election no node is marked DOWN or removed for this long.
  Duration leader_grace_period = 90s;
  /// Heartbeats are gathered for this long into one entry of the log.
  Duration heartbeat_batch_interval = 1s;
  /// A node suspected flap_threshold times within flap_window is flapping: its suspect timeout
  /// doubles.
  Duration flap_window = 600s;
  std::uint32_t flap_threshold = 3;
  /// The brake: at most max(1, this share of the nodes in service) may have been DOWN for less than
  /// down_brake_window; further ones wait. One in five survives replication factor 3 with room, and
  /// a rack is rarely more. Otherwise a coordinator that lost its own network would empty the ring.
  double down_brake_share = 0.2;
  Duration down_brake_window = 5min;
  RingConfig ring;

  /// Refuses values that cannot work together. Each message says which ones and why.
  [[nodiscard]] Status validate() const;
};

}  // namespace muster::membership
