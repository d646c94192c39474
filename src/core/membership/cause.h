#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/membership/node.h"
#include "core/membership/wire.h"

namespace muster::membership {

/// The timeouts of one node, including damping.
struct Timeouts {
  Duration suspect_after{};
  Duration down_after{};
  std::size_t recent_suspicions = 0;  ///< Within flap_window.
  bool damped = false;
  bool operator==(const Timeouts&) const = default;
};

/// The facts behind a decision about a node, for the decision log.
struct Cause {
  WallTime last_heartbeat_at{};  ///< A label, for people.
  Duration silence{};            ///< For JOINING, the time since registration.
  Timeouts timeouts;
  Duration listened{};  ///< How long this leader has been listening.
  Duration grace{};     ///< leader_grace_period; a DOWN needs listened ≥ grace.
  /// The brake when a DOWN was decided: the number allowed, and the number in use before it.
  std::size_t down_allowed = 0;
  std::size_t down_in_use = 0;
  bool operator==(const Cause&) const = default;
};

/// The reason of a command, which travels with it and only informs people.
struct Reason {
  std::string asked_by;        ///< The client of the request; empty if there was none.
  std::optional<Cause> cause;  ///< Of a decision by the leader.
  bool operator==(const Reason&) const = default;
};

/// A cause as bytes, to the millisecond. The reader returns false on damaged input; it drops
/// unknown fields, because they only inform.
void write(WireWriter& out, const Cause& cause);
[[nodiscard]] bool read(std::string_view bytes, Cause& cause);

}  // namespace muster::membership
