#pragma once

#include "base/log.h"
#include "base/log_throttle.h"
#include "base/result.h"
#include "base/time.h"

namespace muster {

/// What a participant says about requests that its store failed, and how soon it probes the store
/// again. Told the time; one thread.
class StoreFailures {
 public:
  /// Logs the first failure of each kind at once, and then one in `kQuiet` that says how many were
  /// left out. `where` comes before the failure's own fields. `told`: the operator has been told of
  /// this one in another way, so it counts and is not logged.
  void note(const Error& error, LogLine::Fields where, MonoTime now, bool told = false);

  /// How long to wait after a probe that got no answer: an interval, and for what lasts until
  /// somebody mends it twice as long each time, up to `kQuiet`.
  [[nodiscard]] Duration until_next_probe(const Error& error, Duration interval);

  static constexpr Duration kQuiet = 30s;

 private:
  LogThrottle throttle_{LogThrottle::Options{.lines_max = 1, .window = kQuiet}};
  unsigned lasting_ = 0;  ///< Probes in a row that met such a failure.
};

}  // namespace muster
