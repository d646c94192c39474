#include "core/limits/contention_detector.h"

#include "base/check.h"

namespace muster {

ContentionDetector::ContentionDetector(ContentionOptions options, Duration heartbeat_interval)
    : options_(options), expected_(heartbeat_interval) {
  MUSTER_CHECK(heartbeat_interval > Duration::zero());
}

std::optional<ContentionEvent> ContentionDetector::cycle_completed(Duration took, MonoTime now) {
  if (!options_.enabled) return std::nullopt;
  // The ratio is compared rather than threshold × interval: division rounds to the nearest
  // double, so a cycle of exactly 1.1 intervals equals a threshold written as 1.1.
  const double ratio = static_cast<double>(took.count()) / static_cast<double>(expected_.count());
  if (!(ratio > options_.threshold)) return std::nullopt;
  ++occurrences_;
  if (reported_at_ && now - *reported_at_ < options_.rate_limit) return std::nullopt;
  reported_at_ = now;
  return ContentionEvent{took, expected_, ratio};
}

}  // namespace muster
