#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"

namespace muster {

/// How much slower the leader assumes its own clock to run than a follower's: two hosts whose
/// clocks are slewed by 8.3 % against each other, in opposite directions.
inline constexpr double kDefaultDrift = 0.16;

/// A lease beyond this is not a lease: it would lock everybody out.
inline constexpr std::chrono::milliseconds kLeaseMax = 24h;

/// A lease as its holder counts it. The holder stops `drift` before everybody else may begin.
struct LeaseTerms {
  Duration lease = 15s;
  double drift = kDefaultDrift;

  /// For how long after sending a renewal the holder may lead.
  [[nodiscard]] Duration held() const;
  /// Counted from the send: a slow reply must not lengthen the lease.
  [[nodiscard]] MonoTime deadline(MonoTime sent) const { return sent + held(); }
};

/// The times of one worker that together keep its promise.
struct LeaseTimings {
  LeaseTerms terms;
  Duration renew_interval = 5s;
  Duration request_timeout = 3s;
  Duration stop_budget = 3s;  ///< For stopping leader-only work.
  Duration kill_margin = 1500ms;

  /// Request timeout and stop budget a fifth of the lease (at most 5 s), the margin a tenth.
  [[nodiscard]] static LeaseTimings for_lease(Duration lease, Duration renew_interval);
  /// Refuses timings with which a leader could not renew, fail, and stop its work within the time
  /// it holds the lease; the message shows the sum.
  [[nodiscard]] Status validate() const;
};

/// The shortest silence of a worker's file that means anything: two heartbeats with their jitter
/// and two request timeouts.
[[nodiscard]] Duration worker_timeout_min(Duration heartbeat, Duration jitter,
                                          Duration request_timeout);
/// Refuses a shorter one, with the reason; `name` is what the user knows it by.
[[nodiscard]] Status validate_worker_timeout(std::string_view name, Duration worker_timeout,
                                             Duration at_least);

/// Decides by this machine's monotonic clock alone whether the leader has gone silent. Timestamps
/// written by other machines are never compared, so clock skew cannot cause an early takeover.
/// Pure: no I/O, no clock of its own, no locks; one thread.
class LeaseObserver {
 public:
  /// `received` is when the reply came in, not when the request went out. `lease` is what the
  /// holder wrote. Seeing the same revision again changes nothing.
  void observe(const Revision& revision, Duration lease, MonoTime received);
  /// The lease last seen may be as long as this, counted from when it was first seen.
  void lengthen(Duration lease) { lease_ = std::max(lease_, lease); }

  [[nodiscard]] bool expired(MonoTime now) const { return seen_ && now >= expires_at(); }
  /// When the lease last seen ends, by this clock. Only after observe().
  [[nodiscard]] MonoTime expires_at() const;
  [[nodiscard]] const std::optional<Revision>& seen() const { return seen_; }
  [[nodiscard]] MonoTime first_seen_at() const { return first_seen_at_; }

 private:
  std::optional<Revision> seen_;
  Duration lease_{};
  MonoTime first_seen_at_{};
};

}  // namespace muster
