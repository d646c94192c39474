#include "store/s3/timestamps.h"

#include <array>
#include <cstdio>

#include "base/text.h"

namespace muster::s3 {
namespace {

std::optional<WallTime> make_time(std::string_view year, unsigned month, std::string_view day,
                                  std::string_view clock) {
  const auto parts = split(clock, ':');
  if (parts.size() != 3) return {};
  const auto y = parse_unsigned(year), d = parse_unsigned(day);
  const auto h = parse_unsigned(parts[0]), m = parse_unsigned(parts[1]);
  const auto s = parse_unsigned(parts[2]);
  if (!y || !d || !h || !m || !s || *y > 9999 || *d > 31 || *h > 23 || *m > 59 || *s > 60)
    return {};
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*y)),
                                         std::chrono::month(month),
                                         std::chrono::day(static_cast<unsigned>(*d)));
  if (!date.ok()) return {};
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(*h) + std::chrono::minutes(*m) +
         std::chrono::seconds(*s);
}

}  // namespace

std::string format_amz_date(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d%02u%02uT%02d%02d%02dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text.data();
}

std::optional<WallTime> parse_http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto words = split(trim(text), ' ');
  if (words.size() != 6 || words[5] != "GMT") return {};
  for (unsigned month = 0; month < kMonths.size(); ++month) {
    if (kMonths[month] == words[2]) return make_time(words[3], month + 1, words[1], words[4]);
  }
  return {};
}

std::optional<WallTime> parse_iso_time(std::string_view text) {
  text = trim(text);
  if (text.size() < 20 || text[10] != 'T' || text.back() != 'Z') return {};
  const auto date = split(text.substr(0, 10), '-');
  if (date.size() != 3) return {};
  const auto month = parse_unsigned(date[1]);
  if (!month || *month > 12) return {};
  const std::string_view clock = text.substr(11, text.size() - 12);
  return make_time(date[0], static_cast<unsigned>(*month), date[2],
                   clock.substr(0, clock.find('.')));
}

}  // namespace muster::s3
