#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "plugins/time_zone.h"

namespace muster {

/// A schedule in five fields: minute, hour, day of month, month, day of week. A field is `*`, a
/// value, a range `a-b`, either of the last two in a list `a,b-c`, and `*` or a range may have a
/// step: `*/15`, `8-18/2`. Months and weekdays also go by their first three letters; Sunday is 0
/// or 7. When both day fields are restricted (neither begins with `*`), a day that matches either
/// of them is due.
///
/// Local times that a shift of the clocks skips are due at the shift, and those that happen twice
/// are due the first time only: every local time is due once, and several that fall on one instant
/// are one. A schedule that means "every so often" rather than "at that time of day" is best kept
/// in UTC, where nothing shifts. A value; any thread.
class CronExpression {
 public:
  /// kInvalid with the field and the reason, also for a date that never comes.
  [[nodiscard]] static Result<CronExpression> parse(std::string_view text);

  /// The first due time that is later than `after`.
  [[nodiscard]] WallTime next_after(WallTime after, const TimeZone& zone) const;

 private:
  using LocalMinutes = std::chrono::local_time<std::chrono::minutes>;

  CronExpression() = default;
  /// The first local minute that matches, `from` included.
  [[nodiscard]] std::optional<LocalMinutes> next_local(LocalMinutes from) const;
  [[nodiscard]] bool matches(std::chrono::local_days day) const;

  // Bit n stands for the value n.
  std::uint64_t minutes_ = 0;
  std::uint64_t hours_ = 0;
  std::uint64_t days_ = 0;
  std::uint64_t months_ = 0;
  std::uint64_t weekdays_ = 0;
  bool either_day_ = false;
};

}  // namespace muster
