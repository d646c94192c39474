#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::metric {

enum class Type { kCounter, kGauge, kHistogram, kSummary };

/// The labels of a sample: names and values, in the order in which they are written. Names are
/// constants of this program; values may be any text.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// The counts of a histogram at one moment.
struct Distribution {
  std::vector<double> bounds;         ///< Upper bounds, inclusive, rising.
  std::vector<std::uint64_t> counts;  ///< One count per bound, and one for larger values; or none.
  double sum = 0;
};

/// Writes metrics in Prometheus' text format, version 0.0.4, in the given order. A family without
/// samples is not written. Pure. Threads: one.
class Text {
 public:
  /// Samples of one family, by the values of one label.
  using Counts = std::vector<std::pair<std::string, std::uint64_t>>;
  using Values = std::vector<std::pair<std::string, double>>;

  /// Every name begins with `prefix`; every sample has `labels` first.
  explicit Text(std::string prefix = {}, Labels labels = {})
      : prefix_(std::move(prefix)), labels_(std::move(labels)) {}

  void counter(std::string_view name, std::string_view help, std::uint64_t value);
  void counters(std::string_view name, std::string_view help, const std::string& label,
                const Counts& counts);
  void gauge(std::string_view name, std::string_view help, double value);
  void gauges(std::string_view name, std::string_view help, const std::string& label,
              const Values& values);
  void histogram(std::string_view name, std::string_view help, const Distribution& distribution);
  /// `quantiles` as "0.99" and the value.
  void summary(std::string_view name, std::string_view help, const Values& quantiles);

  /// Begins a family by hand: the following samples belong to it. Each name may be used once.
  void family(std::string_view name, std::string_view help, Type type);
  void sample(const Labels& labels, std::uint64_t value);
  void sample(const Labels& labels, double value);
  void sample(const Labels& labels, const Distribution& distribution);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void line(std::string_view suffix, const Labels& labels, std::string_view value);

  const std::string prefix_;
  const Labels labels_;
  std::string name_;
  std::string head_;  ///< HELP and TYPE of the family, until its first sample is written.
  std::string text_;
};

}  // namespace muster::metric
