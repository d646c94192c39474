#include "core/election/lease.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/text.h"

namespace muster {

Duration LeaseTerms::held() const {
  return scale(lease, 1.0 - drift);
}

LeaseTimings LeaseTimings::for_lease(Duration lease, Duration renew_interval) {
  LeaseTimings timings;
  timings.terms.lease = lease;
  timings.renew_interval = renew_interval;
  timings.request_timeout = std::min<Duration>(lease / 5, 5s);
  timings.stop_budget = timings.request_timeout;
  timings.kill_margin = lease / 10;
  return timings;
}

Duration hold_off_after_step_down(Duration lease, Duration heartbeat) {
  return std::min(lease, std::max<Duration>(5s, heartbeat));
}

Status LeaseTimings::validate() const {
  if (terms.drift < 0.0 || terms.drift >= 1.0) {
    return {Errc::kInvalid, "the drift must be at least 0 and below 1"};
  }
  for (const Duration d : {terms.lease, renew_interval, request_timeout}) {
    if (d <= Duration(0)) {
      return {Errc::kInvalid, "lease, renew interval and request timeout must be above zero"};
    }
  }
  if (terms.lease > kLeaseMax) return {Errc::kInvalid, "the lease must be a day or less"};
  const Duration sum = renew_interval + request_timeout + stop_budget + kill_margin;
  if (sum < terms.held()) return Done{};
  return {Errc::kInvalid, "unsafe timings: renew interval " + format_duration(renew_interval) +
                              " + request timeout " + format_duration(request_timeout) +
                              " + stop budget " + format_duration(stop_budget) + " + kill margin " +
                              format_duration(kill_margin) + " = " + format_duration(sum) +
                              " must be below the held time " + format_duration(terms.held()) +
                              " of a " + format_duration(terms.lease) +
                              " lease; lengthen the lease or shorten the others"};
}

Duration worker_timeout_min(Duration heartbeat, Duration jitter, Duration request_timeout) {
  return 2 * (heartbeat + jitter) + 2 * request_timeout;
}

Status validate_worker_timeout(std::string_view name, Duration worker_timeout, Duration at_least) {
  if (worker_timeout >= at_least) return Done{};
  return {Errc::kInvalid,
          std::string(name) + " " + format_duration(worker_timeout) + " must be at least " +
              format_duration(at_least) +
              ", two heartbeats with their jitter and two request timeouts, or two lost requests "
              "would make a live worker disappear"};
}

void LeaseObserver::observe(const Revision& revision, Duration lease, MonoTime received) {
  if (seen_ == revision) return;
  seen_ = revision;
  lease_ = lease;
  first_seen_at_ = received;
}

MonoTime LeaseObserver::expires_at() const {
  return first_seen_at_ + lease_;
}

}  // namespace muster
