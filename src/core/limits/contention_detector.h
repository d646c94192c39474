#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace muster {

struct ContentionOptions {
  bool enabled = true;
  double threshold = 2.0;  ///< More intervals than this from one heartbeat to the next.
  Duration rate_limit = 30s;
  bool operator==(const ContentionOptions&) const = default;
};

/// What an operator is told: from one heartbeat to the next it took `ratio` times as long as it
/// should.
struct ContentionEvent {
  Duration duration;
  Duration expected;
  double ratio;
};

/// Notices contention: heartbeats that come late, because the store is slow or this process is. The
/// time from one heartbeat that succeeded to the next is compared with the interval, as etcd does,
/// and not only when it has succeeded: a lease may be lost soon. So neither request timeouts nor
/// repetitions hide a slow store.
///
/// Every occurrence is counted, at most one per interval; events are at most one per `rate_limit`,
/// so that a slow store does not flood its operators. Switched off, it neither counts nor reports.
/// Pure; one thread.
class ContentionDetector {
 public:
  /// `heartbeat_interval` must be positive.
  ContentionDetector(ContentionOptions options, Duration heartbeat_interval);

  /// To be told of every attempt at a heartbeat: when it began, and when it ended.
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
