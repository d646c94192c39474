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

/// The value of an environment variable; none when it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// How one node takes part in the election of one name. Times that are zero follow from the lease,
/// and so do those that are empty: these may be zero, too.
struct CandidateOptions {
  WorkerId node;
  std::string pod;
  std::string value{};  ///< Published while this node leads: UTF-8, at most kValueBytesMax.
  bool eligible = true;
  /// Between two election_check events. A node that does not lead looks at the store then, unless
  /// its heartbeats have looked within half that time.
  Duration election_interval = 5s;
  Duration takeover_delay = 1s;  ///< What a leader that fell silent is given to return.
  Duration lease = 6s;
  Duration renew_interval{0};  ///< A fifth of the lease.
  std::optional<Duration>
      renew_jitter;                    ///< A fifth of the renew interval; for those who only look.
  Duration request_timeout{0};         ///< A fifth of the lease, at most 5 s.
  std::optional<Duration> stop_grace;  ///< Likewise.
  Duration kill_margin{0};             ///< A tenth of the lease.
  Duration worker_timeout{0};  ///< Four thirds of the lease, and no less than two heartbeats need.
  Duration hold_off{0};        ///< The lease: for how long one stands aside after a hand-over.
  Duration backoff_min{0};     ///< Half the lease, so that somebody else has noticed.
  Duration backoff_max = 1min;
  Duration stable_after = 1min;

  /// COORDINATOR_ELIGIBLE, COORDINATOR_NODE_TYPE, COORDINATOR_ELECTION_INTERVAL,
  /// COORDINATOR_TAKEOVER_DELAY (milliseconds) and coordinator_election_enabled. kInvalid names
  /// the variable and what it may be.
  [[nodiscard]] static Result<CandidateOptions> from_environment(const EnvironmentLookup& lookup);

  /// These options with every time that was zero or empty filled in.
  [[nodiscard]] CandidateOptions filled() const;
  [[nodiscard]] LeaseTimings timings() const;
  [[nodiscard]] CandidateConfig machine() const;
  /// Refuses what cannot work or is not safe, with the sum that does not fit.
  [[nodiscard]] Status validate() const;
};

}  // namespace muster
