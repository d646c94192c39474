#include "core/routing/ring_table.h"

#include <algorithm>
#include <bit>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace muster {
namespace {

// Small enough that copying one is cheap and searching one short, large enough that there are few.
constexpr std::size_t kPointsPerSegment = 64;

}  // namespace

RingTable::Segment::const_iterator RingTable::first_at(const Segment& segment,
                                                       std::uint64_t position) {
  return std::lower_bound(segment.begin(), segment.end(), position,
                          [](const Point& point, std::uint64_t p) { return point.position < p; });
}

RingTable::RingTable() {
  build({});
}

RingTable::RingTable(std::vector<Point> points, const Before& before) {
  std::sort(points.begin(), points.end(), [&](const Point& a, const Point& b) {
    return a.position != b.position ? a.position < b.position : before(a.seat, b.seat);
  });
  std::unordered_set<Seat> seats;
  for (const Point& point : points) seats.insert(point.seat);
  members_ = seats.size();
  build(std::move(points));
}

void RingTable::build(std::vector<Point> sorted) {
  points_ = sorted.size();
  // At least two segments, because a shift by 64 bits is not defined.
  const std::size_t count = std::bit_ceil(std::max<std::size_t>(2, points_ / kPointsPerSegment));
  shift_ = 64 - std::countr_zero(count);
  std::vector<std::shared_ptr<const Segment>> segments;
  segments.reserve(count);
  auto first = sorted.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const auto last = std::find_if(first, sorted.end(),
                                   [&](const Point& p) { return segment_of(p.position) != i; });
    segments.push_back(std::make_shared<Segment>(first, last));
    first = last;
  }
  segments_ = ChunkedVector<std::shared_ptr<const Segment>>(std::move(segments));
}

std::vector<RingTable::Point> RingTable::all() const {
  std::vector<Point> points;
  points.reserve(points_);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    points.insert(points.end(), segments_[i]->begin(), segments_[i]->end());
  }
  return points;
}

void RingTable::rebuild() {
  // Rarely, so that the cost spread over the changes in between is small.
  const std::size_t fitting = segments_.size() * kPointsPerSegment;
  if (points_ > fitting * 4 || (segments_.size() > 2 && points_ < fitting / 4)) build(all());
}

void RingTable::insert(Seat seat, std::span<const std::uint64_t> positions, const Before& before) {
  MUSTER_CHECK(!positions.empty());
  for (const std::uint64_t position : positions) {
    auto segment = std::make_shared<Segment>(*segments_[segment_of(position)]);
    auto place = first_at(*segment, position);
    while (place != segment->end() && place->position == position && before(place->seat, seat)) {
      ++place;
    }
    segment->insert(place, Point{position, seat});
    segments_.set(segment_of(position), std::move(segment));
  }
  points_ += positions.size();
  ++members_;
  rebuild();
}

void RingTable::remove(Seat seat, std::span<const std::uint64_t> positions) {
  for (const std::uint64_t position : positions) {
    auto segment = std::make_shared<Segment>(*segments_[segment_of(position)]);
    auto place = first_at(*segment, position);
    while (place != segment->end() && place->position == position && place->seat != seat) ++place;
    MUSTER_CHECK(place != segment->end() && place->position == position);
    segment->erase(place);
    segments_.set(segment_of(position), std::move(segment));
  }
  points_ -= positions.size();
  --members_;
  rebuild();
}

std::size_t RingTable::owners(std::uint64_t position, std::span<Seat> out) const {
  return owners(position, out, [](Seat) { return true; });
}

}  // namespace muster
