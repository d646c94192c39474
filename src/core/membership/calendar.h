#pragma once

#include <cstddef>
#include <vector>

#include "base/time.h"
#include "core/membership/node.h"

namespace muster::membership {

/// What the wall clocks of leaders showed at which log time: the labels that people read. Nothing
/// is decided by them.
///
/// A mark is kept where a clock showed something else than the mark before lets expect: it was
/// set, or nobody led for a while. Before the first mark log time is its own label, because
/// servers of 0.1 took it from their wall clocks. Pure; one thread.
class Calendar {
 public:
  /// A clock may differ by this much before that is worth a mark.
  static constexpr Duration kTolerance = 1s;
  /// Beyond this many the second oldest is forgotten: what it labelled is labelled by the oldest.
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
  /// False when they are out of order, or too many.
  [[nodiscard]] bool restore(std::vector<Mark> marks);

  bool operator==(const Calendar&) const = default;

 private:
  std::vector<Mark> marks_;
};

}  // namespace muster::membership
