#include "core/membership/calendar.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace muster::membership {
namespace {

/// Unsigned, because damaged times may lie further apart than a signed number reaches.
std::uint64_t bits(std::int64_t ms) {
  return static_cast<std::uint64_t>(ms);
}

}  // namespace

void Calendar::note(LogTime time, WallTime wall) {
  const std::uint64_t ahead = bits(to_ms(wall)) - bits(to_ms(label(time)));
  const std::uint64_t apart = std::min(ahead, 0 - ahead);
  if (apart <= bits(to_ms(kTolerance))) return;
  if (!marks_.empty() && marks_.back().time >= time) {
    marks_.back().wall = wall;
    return;
  }
  if (marks_.size() == kMarksMax) marks_.erase(marks_.begin() + 1);
  marks_.push_back({time, wall});
}

WallTime Calendar::label(LogTime time) const {
  const auto after = std::upper_bound(marks_.begin(), marks_.end(), time,
                                      [](LogTime t, const Mark& mark) { return t < mark.time; });
  if (after == marks_.begin()) return wall_from_ms(to_ms(time));
  const Mark& mark = *(after - 1);
  const std::uint64_t since = bits(to_ms(time)) - bits(to_ms(mark.time));
  return wall_from_ms(static_cast<std::int64_t>(bits(to_ms(mark.wall)) + since));
}

bool Calendar::restore(std::vector<Mark> marks) {
  const auto fall = std::adjacent_find(
      marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.time >= b.time; });
  if (marks.size() > kMarksMax || fall != marks.end()) return false;
  marks_ = std::move(marks);
  return true;
}

}  // namespace muster::membership
