#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster::server {

/// The lines of the page's charts, by these names.
enum class Line { kHeartbeatP50, kHeartbeatP95, kHeartbeatP99, kBatchSize, kCommits, kWatchers };
inline constexpr std::size_t kLines = 6;
/// "heartbeatP50Ms" …
[[nodiscard]] const char* to_string(Line line);

/// One value of each; none where nothing was measured.
struct Sample {
  WallTime at{};
  std::array<std::optional<double>, kLines> values{};
};

/// Gathers events between two samples, and keeps the samples of the last hour. Memory is bounded:
/// of very many heartbeats, the first ones after a sample count. Pure. Threads: one.
class Series {
 public:
  static constexpr Duration kStep = 5s;
  static constexpr std::size_t kKept = 720;

  void heartbeat(Duration took);
  void batch(std::size_t beats);
  void commit() { ++commits_; }

  /// Ends a step.
  const Sample& close(WallTime now, std::size_t watchers);
  /// The last ones, rising.
  [[nodiscard]] std::vector<Sample> last(Duration span) const;

 private:
  std::vector<Duration> beats_;
  std::size_t batches_ = 0;
  std::size_t batched_ = 0;
  std::size_t commits_ = 0;
  std::deque<Sample> samples_;
};

}  // namespace muster::server
