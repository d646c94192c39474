#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/strong.h"
#include "base/time.h"
#include "elector/lease_guard.h"

namespace muster {

/// Work that a node runs while it leads, and only then. The candidate calls start() and stop() in
/// turn, on its loop; callbacks return on that loop, at once or later, each at most once per term.
///
/// Requires of an implementation: nothing that it started runs past the guard's deadline, even if
/// the candidate is frozen or gone.
class LeaderWork {
 public:
  virtual ~LeaderWork() = default;

  /// Starts all work. Calls `on_ready` when all of it runs; `on_failed` if it cannot start or, also
  /// after on_ready, has failed for good. stop() follows in any case.
  virtual void start(Epoch epoch, std::shared_ptr<const LeaseGuard> guard,
                     std::function<void()> on_ready,
                     std::function<void(std::string why)> on_failed) = 0;
  /// The time that a clean stop may take while the lease is renewed. A stop gets this time, or the
  /// stop budget if that is longer.
  [[nodiscard]] virtual Duration stop_time() const { return Duration{0}; }
  /// Ends all work, by force if necessary, by `by`, or by the deadline if that is earlier and
  /// does not move. `done(true)` is the receipt: all work is known to be gone. `done(false)`:
  /// some of it cannot be ended, and this node will not lead again. Nothing starts before one of
  /// the two.
  virtual void stop(MonoTime by, std::function<void(bool receipt)> done) = 0;
  /// Renewals move the deadline forward. A loss moves it to the moment of the call: no grace is
  /// left, also for a stop() under way.
  virtual void deadline_moved(MonoTime deadline) = 0;
};

}  // namespace muster
