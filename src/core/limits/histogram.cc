#include "core/limits/histogram.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"

namespace muster {

Histogram Histogram::for_elections() {
  return Histogram(
      {10ms, 25ms, 50ms, 100ms, 250ms, 500ms, 1000ms, 2500ms, 5000ms, 10000ms, 30000ms});
}

Histogram::Histogram(std::vector<Milliseconds> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {
  MUSTER_CHECK(!bounds_.empty());
  MUSTER_CHECK(std::adjacent_find(bounds_.begin(), bounds_.end(), std::greater_equal<>{}) ==
               bounds_.end());
}

void Histogram::observe(Duration value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  ++counts_[static_cast<std::size_t>(bucket - bounds_.begin())];
  ++count_;
  sum_ += value;
}

}  // namespace muster
