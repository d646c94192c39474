#include "core/limits/contention_detector.h"

#include "base/check.h"

namespace muster {

ContentionDetector::ContentionDetector(ContentionOptions options, Duration heartbeat_interval)
    : options_(options), expected_(heartbeat_interval) {
  MUSTER_CHECK(heartbeat_interval > Duration::zero());
}

std::optional<ContentionEvent> ContentionDetector::attempted(MonoTime began, MonoTime ended,
                                                             bool succeeded) {
  if (!options_.enabled) return std::nullopt;
  const Duration took = ended - since_.value_or(began);
  if (succeeded || !since_) since_ = succeeded ? ended : began;
  // The ratio is compared rather than threshold × interval: division rounds to the nearest
  // double, so a cycle of exactly 1.1 intervals equals a threshold written as 1.1.
  const double ratio = static_cast<double>(took.count()) / static_cast<double>(expected_.count());
  if (!(ratio > options_.threshold)) return std::nullopt;
  // Repetitions of one heartbeat are one occurrence.
  if (counted_at_ && ended - *counted_at_ < expected_) return std::nullopt;
  counted_at_ = ended;
  ++occurrences_;
  if (reported_at_ && ended - *reported_at_ < options_.rate_limit) return std::nullopt;
  reported_at_ = ended;
  return ContentionEvent{took, expected_, ratio};
}

}  // namespace muster
