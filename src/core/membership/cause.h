#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/membership/node.h"
#include "core/membership/wire.h"

namespace muster::membership {

/// The timeouts of one node, damping included.
struct Timeouts {
  Duration suspect_after{};
  Duration down_after{};
  std::size_t recent_suspicions = 0;  ///< Within flap_window.
  bool damped = false;
  bool operator==(const Timeouts&) const = default;
};

/// Why a node was judged, for the decision log.
struct Cause {
  WallTime last_heartbeat_at{};  ///< A label, for people.
  Duration silence{};            ///< For JOINING, the time since registration.
  Timeouts timeouts;
  Duration listened{};  ///< How long this leader has been listening.
  Duration grace{};     ///< leader_grace_period; a DOWN needs listened ≥ grace.
  /// The brake when a DOWN was decided: how many were allowed, how many were in use before it.
  std::size_t down_allowed = 0;
  std::size_t down_in_use = 0;
  bool operator==(const Cause&) const = default;
};

/// What stands behind a command: it travels with it and changes nothing but what people are told.
struct Reason {
  std::string asked_by;        ///< Who sent the request; empty when nobody did.
  std::optional<Cause> cause;  ///< Of a decision of the leader.
  bool operator==(const Reason&) const = default;
};

/// A cause as bytes, to the millisecond. The reader returns false on damaged input; fields that
/// only a newer server knows are dropped, for they explain and decide nothing.
void write(WireWriter& out, const Cause& cause);
[[nodiscard]] bool read(std::string_view bytes, Cause& cause);

}  // namespace muster::membership
