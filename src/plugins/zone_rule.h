#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace muster {

/// For how long a local clock keeps one distance from UTC: up to `end`, which is not part of it.
struct ZoneSpan {
  std::chrono::seconds offset;  ///< East of UTC is positive.
  std::chrono::sys_seconds end;
};

/// When summer time begins and ends, year after year, as the last line of a time zone file says
/// it: the TZ string of POSIX, "CET-1CEST,M3.5.0,M10.5.0/3". A value; any thread.
class ZoneRule {
 public:
  [[nodiscard]] static Result<ZoneRule> parse(std::string_view text);

  [[nodiscard]] ZoneSpan span_at(std::chrono::sys_seconds t) const;

  /// One day of every year and a local time on it, which may lie up to a week before or after.
  struct Change {
    enum class Kind { kWeekday, kDayWithoutLeap, kDay };
    Kind kind = Kind::kDay;
    unsigned month = 0;    ///< 1 to 12, with kWeekday.
    unsigned week = 0;     ///< 1 to 5; 5 is the last one of the month.
    unsigned weekday = 0;  ///< 0 is Sunday.
    int day = 0;           ///< 1 to 365 without February 29, or 0 to 365 with it.
    std::chrono::seconds time{0};

    [[nodiscard]] std::chrono::local_seconds in(std::chrono::year year) const;
  };

 private:
  struct Summer {
    std::chrono::seconds offset;
    Change begin;
    Change end;
  };
  std::chrono::seconds standard_{0};
  std::optional<Summer> summer_;
};

}  // namespace muster
