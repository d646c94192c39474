#pragma once

#include "base/log.h"
#include "base/log_throttle.h"
#include "base/result.h"
#include "base/time.h"

namespace muster {

/// Logs the failed store requests of a participant, and decides how soon it probes the store again.
/// The caller passes the time. Threads: one.
class StoreFailures {
 public:
  /// Logs the first failure of each kind at once, and then one per `kQuiet` with the number of
  /// omitted ones. `where` comes before the failure's own fields. `told`: the operator has learned
  /// of this failure in another way, so it counts but is not logged.
  void note(const Error& error, LogLine::Fields where, MonoTime now, bool told = false);

  /// The wait after a probe without an answer: one interval. For failures that last until an
  /// operator acts, the wait doubles each time, up to `kQuiet`.
  [[nodiscard]] Duration until_next_probe(const Error& error, Duration interval);

  static constexpr Duration kQuiet = 30s;

 private:
  LogThrottle throttle_{LogThrottle::Options{.lines_max = 1, .window = kQuiet}};
  unsigned lasting_ = 0;  ///< Probes in a row with such a failure.
};

}  // namespace muster
