#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"

namespace muster {

/// How much slower than a follower's the leader assumes its own clock to be: two hosts whose clocks
/// are slewed by 8.3 % in opposite directions.
inline constexpr double kDefaultDrift = 0.16;

/// The longest lease: a longer one would lock out all other workers.
inline constexpr std::chrono::milliseconds kLeaseMax = 24h;

/// A lease as its holder counts it. The holder stops `drift` before any other worker may begin.
struct LeaseTerms {
  Duration lease = 15s;
  double drift = kDefaultDrift;

  /// The time for which the holder may lead after sending a renewal.
  [[nodiscard]] Duration held() const;
  /// Counted from the send: a slow reply must not lengthen the lease.
  [[nodiscard]] MonoTime deadline(MonoTime sent) const { return sent + held(); }
};

/// The timings of one worker that together keep its lease safe.
struct LeaseTimings {
  LeaseTerms terms;
  Duration renew_interval = 5s;
  Duration request_timeout = 3s;
  Duration stop_budget = 3s;  ///< For stopping leader-only work.
  Duration kill_margin = 1500ms;

  /// Request timeout and stop budget are a fifth of the lease (at most 5 s), the margin a tenth.
  [[nodiscard]] static LeaseTimings for_lease(Duration lease, Duration renew_interval);
  /// Refuses timings with which a leader could not renew, fail, and stop its work while it holds
  /// the lease; the message shows the sum.
  [[nodiscard]] Status validate() const;
};

/// A worker that was asked to step down does not campaign for this time, so that another one has
/// its chance: 5 s, or its `heartbeat` with the jitter if that is longer; never more than a lease.
[[nodiscard]] Duration hold_off_after_step_down(Duration lease, Duration heartbeat);

/// The shortest meaningful silence of a worker's file: two heartbeats with their jitter and two
/// request timeouts.
[[nodiscard]] Duration worker_timeout_min(Duration heartbeat, Duration jitter,
                                          Duration request_timeout);
/// Refuses a shorter timeout, with the reason; `name` is the option's name for the user.
[[nodiscard]] Status validate_worker_timeout(std::string_view name, Duration worker_timeout,
                                             Duration at_least);

/// Decides by this machine's monotonic clock alone whether the leader has gone silent. Timestamps
/// written by other machines are never compared, so clock skew cannot cause an early takeover.
/// Pure: no I/O, no clock of its own, no locks; one thread.
class LeaseObserver {
 public:
  /// `received` is the time of the reply, not of the request. `lease` is as the holder wrote it.
  /// Seeing the same revision again changes nothing.
  void observe(const Revision& revision, Duration lease, MonoTime received);
  /// The observed lease may be as long as this, counted from when it was first seen.
  void lengthen(Duration lease) { lease_ = std::max(lease_, lease); }

  [[nodiscard]] bool expired(MonoTime now) const { return seen_ && now >= expires_at(); }
  /// When the observed lease ends, by this clock. Requires: observe() was called.
  [[nodiscard]] MonoTime expires_at() const;
  [[nodiscard]] const std::optional<Revision>& seen() const { return seen_; }
  [[nodiscard]] MonoTime first_seen_at() const { return first_seen_at_; }

 private:
  std::optional<Revision> seen_;
  Duration lease_{};
  MonoTime first_seen_at_{};
};

}  // namespace muster
