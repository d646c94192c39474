#pragma once

#include <cstddef>
#include <vector>

#include "base/time.h"
#include "core/membership/node.h"

namespace muster::membership {

/// Maps log time to the leaders' wall clocks: the labels that people read. No decision uses
/// them.
///
/// It keeps a mark where a clock differs from the value expected from the previous mark: the
/// clock was set, or there was no leader for a while. Before the first mark, log time is its own
/// label, because servers of 0.1 took it from their wall clocks. Pure. Threads: one.
class Calendar {
 public:
  /// A larger difference of a clock makes a mark.
  static constexpr Duration kTolerance = 1s;
  /// Beyond this number the second oldest is dropped; the oldest then provides its labels.
  static constexpr std::size_t kMarksMax = 512;

  struct Mark {
    LogTime time{};
    WallTime wall{};
    bool operator==(const Mark&) const = default;
  };

  /// At `time` the leader's wall clock showed `wall`. `time` never falls.
  void note(LogTime time, WallTime wall);
  [[nodiscard]] WallTime label(LogTime time) const;

  /// In the order of time.
  [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }
  /// False if they are out of order, or too many.
  [[nodiscard]] bool restore(std::vector<Mark> marks);

  bool operator==(const Calendar&) const = default;

 private:
  std::vector<Mark> marks_;
};

}  // namespace muster::membership
