#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/routing/chunked_vector.h"

namespace muster {

/// The hash ring for who follows a topology: it gives the answers of a HashRing of the same
/// members, and one member's coming or going costs microseconds instead of building anew. Members
/// are numbers ("seats") that the owner of the table gives; their positions are the owner's, too.
///
/// Copies are cheap and share what they have in common. Reading is for any number of threads; a
/// copy is changed by one.
class RingTable {
 public:
  using Seat = std::uint32_t;
  struct Point {
    std::uint64_t position;
    Seat seat;
  };
  /// Whether seat a comes before seat b where both have the same position: by node id.
  using Before = std::function<bool(Seat a, Seat b)>;

  RingTable();
  /// All points of all members, in any order.
  RingTable(std::vector<Point> points, const Before& before);

  /// Enters a member that has no points here yet; `positions` must not be empty.
  void insert(Seat seat, std::span<const std::uint64_t> positions, const Before& before);
  /// `positions` must be those it was entered with.
  void remove(Seat seat, std::span<const std::uint64_t> positions);

  /// The distinct members clockwise from `position`, at most as many as `out` holds. Returns how
  /// many: fewer only when there are no more members.
  [[nodiscard]] std::size_t owners(std::uint64_t position, std::span<Seat> out) const;

  /// The same of the members that `accepts`: the owners on the ring of these alone. With many
  /// points of others in between it takes that many steps.
  template <typename Accepts>
  [[nodiscard]] std::size_t owners(std::uint64_t position, std::span<Seat> out,
                                   const Accepts& accepts) const;

  /// Members that have points.
  [[nodiscard]] std::size_t members() const { return members_; }
  [[nodiscard]] std::size_t points() const { return points_; }

 private:
  // Points in order, those whose top bits are the segment's number.
  using Segment = std::vector<Point>;

  void build(std::vector<Point> sorted);
  void rebuild();
  [[nodiscard]] std::vector<Point> all() const;
  [[nodiscard]] std::size_t segment_of(std::uint64_t position) const { return position >> shift_; }
  [[nodiscard]] static Segment::const_iterator first_at(const Segment& segment,
                                                        std::uint64_t position);

  ChunkedVector<std::shared_ptr<const Segment>> segments_;
  int shift_ = 63;
  std::size_t points_ = 0;
  std::size_t members_ = 0;
};

template <typename Accepts>
std::size_t RingTable::owners(std::uint64_t position, std::span<Seat> out,
                              const Accepts& accepts) const {
  const std::size_t wanted = std::min(out.size(), members_);
  std::size_t found = 0;
  std::size_t number = segment_of(position);
  const Segment* segment = segments_[number].get();
  auto point = first_at(*segment, position);
  // Once around, because there may be fewer members that are accepted than are wanted.
  for (std::size_t passed = 0; found < wanted && passed < points_;) {
    if (point == segment->end()) {
      // The next one clockwise; after the last comes the first. Some may be empty.
      number = (number + 1) % segments_.size();
      segment = segments_[number].get();
      point = segment->begin();
      continue;
    }
    const auto seen = out.first(found);
    if (accepts(point->seat) && std::find(seen.begin(), seen.end(), point->seat) == seen.end()) {
      out[found++] = point->seat;
    }
    ++point;
    ++passed;
  }
  return found;
}

}  // namespace muster
