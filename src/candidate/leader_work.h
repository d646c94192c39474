#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/strong.h"
#include "base/time.h"
#include "elector/lease_guard.h"

namespace muster {

/// What a node runs while it leads, and only then. The candidate calls start() and stop() in turn,
/// on its loop; callbacks come back on that loop, at once or later, and each at most once per term.
///
/// An implementation promises that nothing it started runs past the guard's deadline, whatever the
/// candidate does: the candidate may be frozen, or gone.
class LeaderWork {
 public:
  virtual ~LeaderWork() = default;

  /// Starts everything. `on_ready` when all of it runs, `on_failed` when it cannot, or, after
  /// on_ready too, when it has failed for good; stop() follows in any case.
  virtual void start(Epoch epoch, std::shared_ptr<const LeaseGuard> guard,
                     std::function<void()> on_ready,
                     std::function<void(std::string why)> on_failed) = 0;
  /// How long an orderly stop may take while the lease is renewed; a stop is given this time, or
  /// the stop budget if that is longer.
  [[nodiscard]] virtual Duration stop_time() const { return Duration{0}; }
  /// Ends everything, by force where it must, so that it is gone by `by`, and by the deadline
  /// should that be earlier and not move. `done(true)` is the
  /// receipt: all of it is known to be gone. `done(false)`: some of it cannot be ended at all, and
  /// this node will not lead again. Until one of them comes, nothing is started.
  virtual void stop(MonoTime by, std::function<void(bool receipt)> done) = 0;
  /// Renewals move the deadline forward. A loss moves it to the moment of the call: no grace is
  /// left, also for a stop() that is under way.
  virtual void deadline_moved(MonoTime deadline) = 0;
};

}  // namespace muster
