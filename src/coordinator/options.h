#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/election/epoch_fence.h"
#include "core/election/lease.h"
#include "core/limits/circuit_breaker.h"
#include "core/limits/contention_detector.h"

namespace muster {

/// How one worker takes part in one election. The defaults are those of s3db.js.
struct CoordinatorOptions {
  Duration heartbeat_interval = 5s;
  Duration heartbeat_jitter = 1s;  ///< Added to each interval of a follower, uniform from zero.
  Duration lease_timeout = 15s;
  Duration worker_timeout = 20s;
  Duration startup_jitter_min = 0s;
  Duration startup_jitter_max = 5s;
  Duration request_timeout{0};  ///< Zero: a fifth of the lease, at most 5 s.
  std::size_t metrics_buffer_size = 100;
  ContentionOptions contention;
  CircuitBreakerOptions circuit_breaker;
  EpochFenceOptions epoch_fencing;
  bool enable_coordinator = true;  ///< False: observes, and never campaigns.
  WorkerId worker_id;              ///< Empty: host name and process id.
  std::string pod;                 ///< Empty: the host name.

  /// Reads the options by the camelCase names in docs/coordinator.md, flat, dotted
  /// ("contention.enabled") or nested ({"contention": {"enabled": …}}); durations are milliseconds.
  /// An unknown name is an error that suggests the nearest known one.
  [[nodiscard]] static Result<CoordinatorOptions> from_json(std::string_view json);
  /// Refuses options that cannot work or are unsafe, with the reason.
  [[nodiscard]] Status validate() const;
  [[nodiscard]] LeaseTimings timings() const;
  bool operator==(const CoordinatorOptions&) const = default;
};

}  // namespace muster
