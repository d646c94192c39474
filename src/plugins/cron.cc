#include "plugins/cron.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace muster {
namespace {

using std::chrono::days;
using std::chrono::local_days;
using std::chrono::minutes;
using std::chrono::seconds;

// A February 29 on a given weekday (29 2 with */7) may be forty years away, across a year 2100.
constexpr days kSearchMax = days(41 * 366);

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kWeekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Field {
  const char* name;
  unsigned low;
  unsigned high;
  std::span<const std::string_view> names;
};
constexpr Field kMinute{"minute", 0, 59, {}};
constexpr Field kHour{"hour", 0, 23, {}};
constexpr Field kDay{"day of month", 1, 31, {}};
constexpr Field kMonth{"month", 1, 12, kMonths};
constexpr Field kWeekday{"day of week", 0, 7, kWeekdays};

bool has(std::uint64_t bits, unsigned value) {
  return (bits >> value & 1) != 0;
}

Error wrong(const Field& field, std::string_view item, const std::string& why) {
  return {Errc::kInvalid,
          "cron " + std::string(field.name) + " \"" + std::string(item) + "\": " + why};
}

Result<unsigned> parse_value(const Field& field, std::string_view item, std::string_view text) {
  const auto name = std::find(field.names.begin(), field.names.end(), to_lower(text));
  if (name != field.names.end()) {
    return field.low + static_cast<unsigned>(name - field.names.begin());
  }
  const auto value = parse_unsigned(text);
  if (!value || *value < field.low || *value > field.high) {
    return wrong(field, item,
                 "\"" + std::string(text) + "\" is not between " + std::to_string(field.low) +
                     " and " + std::to_string(field.high));
  }
  return static_cast<unsigned>(*value);
}

/// One item of a list: `*`, `a`, `a-b`, the first and the last also with a step.
Result<std::uint64_t> parse_item(const Field& field, std::string_view item) {
  const auto slash = item.find('/');
  const std::string_view range = item.substr(0, slash);
  unsigned low = field.low;
  unsigned high = field.high;
  if (range != "*") {
    const auto dash = range.find('-');
    const auto first = parse_value(field, item, range.substr(0, dash));
    if (!first) return first.error();
    low = high = *first;
    if (dash != std::string_view::npos) {
      const auto last = parse_value(field, item, range.substr(dash + 1));
      if (!last) return last.error();
      // A week may end with its Sunday: FRI-SUN is 5-7.
      high = field.high == 7 && *last == 0 && low > 0 ? 7 : *last;
      if (high < low) return wrong(field, item, "the range runs backwards");
    } else if (slash != std::string_view::npos) {
      return wrong(field, item, "a step needs * or a range before it");
    }
  }
  unsigned step = 1;
  if (slash != std::string_view::npos) {
    const auto value = parse_unsigned(item.substr(slash + 1));
    if (!value || *value == 0 || *value > field.high) {
      return wrong(field, item, "the step is not between 1 and " + std::to_string(field.high));
    }
    step = static_cast<unsigned>(*value);
  }
  std::uint64_t bits = 0;
  for (unsigned value = low; value <= high; value += step) bits |= std::uint64_t{1} << value;
  return bits;
}

Status parse_field(const Field& field, std::string_view text, std::uint64_t& bits) {
  for (const std::string_view item : split(text, ',')) {
    const auto parsed = parse_item(field, item);
    if (!parsed) return parsed.error();
    bits |= *parsed;
  }
  return Done{};
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (true) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return found;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(" \t"), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

Result<CronExpression> CronExpression::parse(std::string_view text) {
  const auto fields = words(text);
  if (fields.size() != 5) {
    return {Errc::kInvalid, "cron \"" + std::string(text) + "\" has " +
                                std::to_string(fields.size()) +
                                " fields; it needs minute, hour, day of month, month, day of week"};
  }
  CronExpression cron;
  for (const Status& status :
       {parse_field(kMinute, fields[0], cron.minutes_), parse_field(kHour, fields[1], cron.hours_),
        parse_field(kDay, fields[2], cron.days_), parse_field(kMonth, fields[3], cron.months_),
        parse_field(kWeekday, fields[4], cron.weekdays_)}) {
    if (!status) return status.error();
  }
  if (has(cron.weekdays_, 7)) cron.weekdays_ |= 1;
  cron.either_day_ = fields[2].front() != '*' && fields[4].front() != '*';
  if (!cron.next_local(LocalMinutes{})) {
    return {Errc::kInvalid, "cron \"" + std::string(text) + "\" names a date that never comes"};
  }
  return cron;
}

bool CronExpression::matches(local_days day) const {
  const std::chrono::year_month_day date(day);
  if (!has(months_, static_cast<unsigned>(date.month()))) return false;
  const bool day_fits = has(days_, static_cast<unsigned>(date.day()));
  const bool weekday_fits = has(weekdays_, std::chrono::weekday(day).c_encoding());
  return either_day_ ? day_fits || weekday_fits : day_fits && weekday_fits;
}

std::optional<CronExpression::LocalMinutes> CronExpression::next_local(LocalMinutes from) const {
  local_days day = std::chrono::floor<days>(from);
  auto first = static_cast<unsigned>((from - day).count());
  for (const local_days end = day + kSearchMax; day <= end; day += days(1), first = 0) {
    if (!matches(day)) continue;
    for (unsigned minute = first; minute < 24 * 60; ++minute) {
      if (!has(hours_, minute / 60)) {
        minute += 59 - minute % 60;
      } else if (has(minutes_, minute % 60)) {
        return day + minutes(minute);
      }
    }
  }
  return {};
}

WallTime CronExpression::next_after(WallTime after, const TimeZone& zone) const {
  const auto now = std::chrono::floor<seconds>(after);
  // Local times before this one have been, whatever shifts there were. Those from here on may have
  // been as well, in an hour that happens twice; they pass by until one lies ahead.
  auto local = std::chrono::floor<minutes>(
      std::chrono::local_seconds(now.time_since_epoch() + zone.offset_at(now)));
  while (true) {
    const auto match = next_local(local);
    MUSTER_CHECK(match.has_value());  // parse() saw that it comes again and again.
    const WallTime due = zone.first_at(*match);
    if (due > after) return due;
    local = *match + minutes(1);
  }
}

}  // namespace muster
