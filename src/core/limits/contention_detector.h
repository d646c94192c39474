#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace muster {

struct ContentionOptions {
  bool enabled = true;
  double threshold = 2.0;  ///< A longer time, in intervals, from one heartbeat to the next is late.
  Duration rate_limit = 30s;
  bool operator==(const ContentionOptions&) const = default;
};

/// The report for an operator: the time from one heartbeat to the next was `ratio` times the
/// interval.
struct ContentionEvent {
  Duration duration;
  Duration expected;
  double ratio;
};

/// Detects contention: heartbeats that come late, because the store or this process is slow. It
/// compares the time from one successful heartbeat to the next with the interval, as etcd does, and
/// does so before the next one has succeeded, because a lease may be lost soon. So neither request
/// timeouts nor retries hide a slow store.
///
/// Every occurrence is counted, at most one per interval; events come at most once per
/// `rate_limit`, so that a slow store does not flood its operators. Switched off, it neither counts
/// nor reports. Pure. Threads: one.
class ContentionDetector {
 public:
  /// Requires: `heartbeat_interval` is positive.
  ContentionDetector(ContentionOptions options, Duration heartbeat_interval);

  /// Call for every attempt at a heartbeat, with its beginning and end.
  [[nodiscard]] std::optional<ContentionEvent> attempted(MonoTime began, MonoTime ended,
                                                         bool succeeded);

  /// The `contentionEvents` metric: every occurrence, reported or not.
  [[nodiscard]] std::uint64_t occurrences() const { return occurrences_; }

 private:
  ContentionOptions options_;
  Duration expected_;
  std::uint64_t occurrences_ = 0;
  std::optional<MonoTime>
      since_;  // The last heartbeat that succeeded, or the first attempt at one.
  std::optional<MonoTime> counted_at_;
  std::optional<MonoTime> reported_at_;
};

}  // namespace muster
