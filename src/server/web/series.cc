#include "server/web/series.h"

#include <algorithm>

namespace muster::server {
namespace {

constexpr std::size_t kBeatsShown = 4096;

double in_ms(Duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

}  // namespace

const char* to_string(Line line) {
  static constexpr std::array kNames{"heartbeatP50Ms", "heartbeatP95Ms",   "heartbeatP99Ms",
                                     "batchSize",      "commitsPerSecond", "watchers"};
  static_assert(kNames.size() == kLines);
  return kNames[static_cast<std::size_t>(line)];
}

void Series::heartbeat(Duration took) {
  if (beats_.size() < kBeatsShown) beats_.push_back(took);
}

void Series::batch(std::size_t beats) {
  ++batches_;
  batched_ += beats;
}

const Sample& Series::close(WallTime now, std::size_t watchers) {
  Sample sample;
  sample.at = now;
  const auto set = [&](Line line, double value) {
    sample.values[static_cast<std::size_t>(line)] = value;
  };
  if (!beats_.empty()) {
    std::sort(beats_.begin(), beats_.end());
    // By nearest rank: each is a latency that really occurred.
    const auto rank = [&](std::size_t percent) {
      return in_ms(beats_[(beats_.size() * percent + 99) / 100 - 1]);
    };
    set(Line::kHeartbeatP50, rank(50));
    set(Line::kHeartbeatP95, rank(95));
    set(Line::kHeartbeatP99, rank(99));
  }
  if (batches_ > 0) {
    set(Line::kBatchSize, static_cast<double>(batched_) / static_cast<double>(batches_));
  }
  const auto step = std::chrono::duration<double>(kStep).count();
  set(Line::kCommits, static_cast<double>(commits_) / step);
  set(Line::kWatchers, static_cast<double>(watchers));
  beats_.clear();
  batches_ = batched_ = commits_ = 0;
  if (samples_.size() == kKept) samples_.pop_front();
  samples_.push_back(sample);
  return samples_.back();
}

std::vector<Sample> Series::last(Duration span) const {
  const auto wanted = static_cast<std::size_t>(std::max<Duration>(span, kStep) / kStep);
  const std::size_t count = std::min(wanted, samples_.size());
  return {samples_.end() - static_cast<std::ptrdiff_t>(count), samples_.end()};
}

}  // namespace muster::server
