#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/candidate/candidate_machine.h"
#include "core/election/lease.h"

namespace muster {

/// Returns the value of an environment variable; none if it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// How one node takes part in one election. A time that is zero or empty defaults to a fraction of
/// the lease; where a time may be zero, it is optional.
struct CandidateOptions {
  WorkerId node;
  std::string pod;
  std::string value{};  ///< Published while this node leads: UTF-8, at most kValueBytesMax.
  bool eligible = true;
  /// Time between two election_check events. A standby reads the store then, unless its heartbeats
  /// have read it within half that time.
  Duration election_interval = 5s;
  Duration takeover_delay = 1s;  ///< Extra wait after the lease has expired.
  Duration lease = 6s;
  Duration renew_interval{0};  ///< A fifth of the lease.
  std::optional<Duration>
      renew_jitter;             ///< A fifth of the renew interval; for standbys, which only read.
  Duration request_timeout{0};  ///< A fifth of the lease, at most 5 s.
  std::optional<Duration> stop_grace;  ///< Likewise.
  Duration kill_margin{0};             ///< A tenth of the lease.
  Duration worker_timeout{0};  ///< Four thirds of the lease, and no less than two heartbeats need.
  Duration hold_off{0};        ///< hold_off_after_step_down().
  Duration backoff_min{0};     ///< Half the lease, so that another node has noticed.
  Duration backoff_max = 1min;
  Duration stable_after = 1min;

  /// Reads COORDINATOR_ELIGIBLE, COORDINATOR_NODE_TYPE, COORDINATOR_ELECTION_INTERVAL,
  /// COORDINATOR_TAKEOVER_DELAY (milliseconds) and coordinator_election_enabled. kInvalid names the
  /// variable and its allowed values.
  [[nodiscard]] static Result<CandidateOptions> from_environment(const EnvironmentLookup& lookup);

  /// These options with a default for every time that was zero or empty.
  [[nodiscard]] CandidateOptions filled() const;
  [[nodiscard]] LeaseTimings timings() const;
  [[nodiscard]] CandidateConfig machine() const;
  /// Refuses options that cannot work or are unsafe, with the sum.
  [[nodiscard]] Status validate() const;
};

}  // namespace muster
