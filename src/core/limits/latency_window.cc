#include "core/limits/latency_window.h"

#include <algorithm>

#include "base/check.h"

namespace muster {
namespace {

/// The smallest sample that at least `percent` of all samples do not exceed.
Duration nearest_rank(const std::vector<Duration>& sorted, std::size_t percent) {
  const std::size_t rank = (percent * sorted.size() + 99) / 100;
  return sorted[rank - 1];
}

}  // namespace

std::string_view LatencySummary::note() const {
  return sufficient ? std::string_view{} : std::string_view{"insufficient data"};
}

LatencyWindow::LatencyWindow(std::size_t capacity) : capacity_(capacity) {
  MUSTER_CHECK(capacity > 0);
  ring_.reserve(capacity);
}

void LatencyWindow::record(Duration latency) {
  if (ring_.size() < capacity_) {
    ring_.push_back(latency);
  } else {
    ring_[recorded_ % capacity_] = latency;
  }
  ++recorded_;
}

std::vector<Duration> LatencyWindow::samples() const {
  std::vector<Duration> ordered = ring_;
  if (ring_.size() == capacity_) {
    const auto oldest = static_cast<std::ptrdiff_t>(recorded_ % capacity_);
    std::rotate(ordered.begin(), ordered.begin() + oldest, ordered.end());
  }
  return ordered;
}

LatencySummary LatencyWindow::summary() const {
  LatencySummary summary;
  summary.count = ring_.size();
  summary.sufficient = recorded_ >= kLeastSamples;
  if (!summary.sufficient) return summary;
  std::vector<Duration> sorted = ring_;
  std::sort(sorted.begin(), sorted.end());
  summary.p50 = nearest_rank(sorted, 50);
  summary.p95 = nearest_rank(sorted, 95);
  summary.p99 = nearest_rank(sorted, 99);
  return summary;
}

}  // namespace muster
