#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace muster {

struct ContentionOptions {
  bool enabled = true;
  double threshold = 2.0;  ///< A cycle that takes more than so many intervals is contention.
  Duration rate_limit = 30s;
  bool operator==(const ContentionOptions&) const = default;
};

/// What an operator is told: a heartbeat cycle took `ratio` times as long as it should.
struct ContentionEvent {
  Duration duration;
  Duration expected;
  double ratio;
};

/// Notices heartbeat cycles that take far longer than their interval: coordination is degraded
/// and a lease may be lost soon. Every occurrence is counted; events are at most one per
/// `rate_limit`, so that a slow store does not flood its operators. Switched off, it neither
/// counts nor reports. Pure; one thread.
class ContentionDetector {
 public:
  /// `heartbeat_interval` must be positive.
  ContentionDetector(ContentionOptions options, Duration heartbeat_interval);

  /// To be told of every completed cycle; `now` is when it completed.
  [[nodiscard]] std::optional<ContentionEvent> cycle_completed(Duration took, MonoTime now);

  /// The `contentionEvents` metric: every occurrence, reported or not.
  [[nodiscard]] std::uint64_t occurrences() const { return occurrences_; }

 private:
  ContentionOptions options_;
  Duration expected_;
  std::uint64_t occurrences_ = 0;
  std::optional<MonoTime> reported_at_;
};

}  // namespace muster
