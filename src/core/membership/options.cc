#include "core/membership/options.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "core/membership/validation.h"

namespace muster::membership {
namespace {

/// Far beyond any use, and far from where doubling or adding durations could overflow.
constexpr Duration kLongest = std::chrono::hours(24 * 7);

std::string with(const char* name, Duration value) {
  return std::string(name) + " " + format_duration(value);
}

}  // namespace

Status Options::validate() const {
  const struct {
    const char* name;
    Duration value;
  } durations[] = {
      {"heartbeat_interval", heartbeat_interval},
      {"suspect_timeout", suspect_timeout},
      {"down_timeout", down_timeout},
      {"joining_timeout", joining_timeout},
      {"leader_grace_period", leader_grace_period},
      {"heartbeat_batch_interval", heartbeat_batch_interval},
      {"flap_window", flap_window},
      {"down_brake_window", down_brake_window},
  };
  for (const auto& [name, value] : durations) {
    if (value <= 0s || value > kLongest) {
      return invalid(with(name, value) + " must be more than 0 and at most 7 days");
    }
  }
  if (heartbeat_batch_interval > heartbeat_interval) {
    return invalid(with("heartbeat_batch_interval", heartbeat_batch_interval) +
                   " must not be longer than " + with("heartbeat_interval", heartbeat_interval) +
                   ", or a node's heartbeats wait longer than it takes to send the next");
  }
  if (suspect_timeout <= 3 * heartbeat_interval) {
    return invalid(with("suspect_timeout", suspect_timeout) + " must be more than 3 × " +
                   with("heartbeat_interval", heartbeat_interval) +
                   ", or a few lost packets make a healthy node SUSPECT");
  }
  if (down_timeout <= suspect_timeout) {
    return invalid(with("down_timeout", down_timeout) + " must be longer than " +
                   with("suspect_timeout", suspect_timeout) +
                   ": both count from the last heartbeat, and SUSPECT comes first");
  }
  if (leader_grace_period < 2 * suspect_timeout) {
    return invalid(with("leader_grace_period", leader_grace_period) + " must be at least 2 × " +
                   with("suspect_timeout", suspect_timeout) +
                   ", or a new leader marks nodes DOWN that had no time to find it");
  }
  if (joining_timeout < suspect_timeout) {
    return invalid(with("joining_timeout", joining_timeout) + " must be at least " +
                   with("suspect_timeout", suspect_timeout) +
                   ", or a node is removed before its first heartbeats could be missed");
  }
  if (flap_threshold < 1 || flap_threshold > kFlapHistoryMax) {
    return invalid("flap_threshold " + std::to_string(flap_threshold) +
                   " must be between 1 and 16, the number of suspicions remembered per node");
  }
  if (flap_window <= flap_threshold * suspect_timeout) {
    return invalid(with("flap_window", flap_window) + " must be longer than flap_threshold × " +
                   with("suspect_timeout", suspect_timeout) +
                   ": each suspicion takes that long, so damping would never begin");
  }
  if (!(down_brake_share > 0.0 && down_brake_share <= 1.0)) {
    return invalid("down_brake_share must be more than 0 and at most 1; 1 switches the brake off");
  }
  return membership::validate(ring);
}

}  // namespace muster::membership
