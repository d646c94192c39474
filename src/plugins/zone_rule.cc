#include "plugins/zone_rule.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"

namespace muster {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using std::chrono::weekday;
using std::chrono::year;

constexpr int kHoursMax = 167;  // A week: what version 3 of the file format allows.

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes the string apart from left to right; an empty answer is a syntax error.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }
  [[nodiscard]] bool at(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool take(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool name() {
    if (take('<')) {
      const auto close = rest_.find('>');
      if (close == std::string_view::npos || close < 3) return false;
      rest_.remove_prefix(close + 1);
      return true;
    }
    return take_while(is_letter).size() >= 3;
  }

  std::optional<int> number(int low, int high) {
    const std::string_view digits = take_while(is_digit);
    const auto value = digits.size() <= 3 ? parse_unsigned(digits) : std::nullopt;
    if (!value) return {};
    const int n = static_cast<int>(*value);
    return n >= low && n <= high ? std::optional(n) : std::nullopt;
  }

  std::optional<seconds> time() {
    const bool negative = take('-');
    if (!negative) take('+');
    const auto h = number(0, kHoursMax);
    if (!h) return {};
    seconds total = hours(*h);
    if (take(':')) {
      const auto m = number(0, 59);
      if (!m) return {};
      total += minutes(*m);
      if (take(':')) {
        const auto s = number(0, 59);
        if (!s) return {};
        total += seconds(*s);
      }
    }
    return negative ? -total : total;
  }

  std::optional<ZoneRule::Change> change() {
    using Kind = ZoneRule::Change::Kind;
    ZoneRule::Change change;
    if (take('M')) {
      const auto month = number(1, 12);
      const auto week = month && take('.') ? number(1, 5) : std::nullopt;
      const auto day = week && take('.') ? number(0, 6) : std::nullopt;
      if (!day) return {};
      change.kind = Kind::kWeekday;
      change.month = static_cast<unsigned>(*month);
      change.week = static_cast<unsigned>(*week);
      change.weekday = static_cast<unsigned>(*day);
    } else {
      change.kind = take('J') ? Kind::kDayWithoutLeap : Kind::kDay;
      const auto day = number(change.kind == Kind::kDay ? 0 : 1, 365);
      if (!day) return {};
      change.day = *day;
    }
    const auto at_time = take('/') ? time() : std::optional<seconds>(hours(2));
    if (!at_time) return {};
    change.time = *at_time;
    return change;
  }

 private:
  std::string_view take_while(bool (*belongs)(char)) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), belongs);
    const auto taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

}  // namespace

local_seconds ZoneRule::Change::in(year y) const {
  using namespace std::chrono;
  const local_days first(y / January / 1);
  local_days date = first + days(day);
  if (kind == Kind::kDayWithoutLeap) {
    date = first + days(day - 1) + days(y.is_leap() && day >= 60 ? 1 : 0);
  } else if (kind == Kind::kWeekday) {
    const auto m = std::chrono::month(month);
    const auto d = std::chrono::weekday(weekday);
    date = week == 5 ? local_days(y / m / d[last]) : local_days(y / m / d[week]);
  }
  return date + time;
}

Result<ZoneRule> ZoneRule::parse(std::string_view text) {
  const Error wrong{Errc::kCorrupt, "not a time zone rule: \"" + std::string(text) + "\""};
  Reader reader(text);
  ZoneRule rule;
  if (!reader.name()) return wrong;
  const auto west = reader.time();
  if (!west) return wrong;
  rule.standard_ = -*west;
  if (reader.done()) return rule;

  if (!reader.name()) return wrong;
  seconds summer = rule.standard_ + hours(1);
  if (!reader.at(',')) {
    const auto summer_west = reader.time();
    if (!summer_west) return wrong;
    summer = -*summer_west;
  }
  if (!reader.take(',')) return wrong;
  const auto begin = reader.change();
  if (!begin || !reader.take(',')) return wrong;
  const auto end = reader.change();
  if (!end || !reader.done()) return wrong;
  rule.summer_ = Summer{summer, *begin, *end};
  return rule;
}

ZoneSpan ZoneRule::span_at(sys_seconds t) const {
  if (!summer_) return {standard_, sys_seconds::max()};
  struct Shift {
    sys_seconds at;
    bool to_summer;
    seconds offset;
  };
  // The years beside it, too: in UTC a change may fall into another year than it does locally.
  const year middle = std::chrono::year_month_day(std::chrono::floor<days>(t)).year();
  std::vector<Shift> shifts;
  for (const year y : {middle - std::chrono::years(1), middle, middle + std::chrono::years(1)}) {
    const seconds begin = summer_->begin.in(y).time_since_epoch() - standard_;
    const seconds end = summer_->end.in(y).time_since_epoch() - summer_->offset;
    shifts.push_back({sys_seconds(begin), true, summer_->offset});
    shifts.push_back({sys_seconds(end), false, standard_});
  }
  // Where one ends as the next begins it is summer all year long.
  std::sort(shifts.begin(), shifts.end(), [](const Shift& a, const Shift& b) {
    return std::pair(a.at, a.to_summer) < std::pair(b.at, b.to_summer);
  });
  const auto next = std::upper_bound(shifts.begin(), shifts.end(), t,
                                     [](sys_seconds when, const Shift& s) { return when < s.at; });
  return {std::prev(next)->offset, next->at};
}

}  // namespace muster
