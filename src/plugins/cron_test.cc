#include "plugins/cron.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace muster {
namespace cron_test {

using std::chrono::minutes;
using std::chrono::sys_days;

WallTime utc(int y, unsigned m, unsigned d, int h = 0, int min = 0) {
  return sys_days(std::chrono::year(y) / std::chrono::month(m) / std::chrono::day(d)) +
         std::chrono::hours(h) + minutes(min);
}
CronExpression cron(std::string_view text) {
  auto parsed = CronExpression::parse(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}
WallTime next(std::string_view text, WallTime after, const std::string& zone = "UTC") {
  const auto loaded = TimeZone::load(zone);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return cron(text).next_after(after, *loaded);
}

TEST(CronTest, FindsTheNextDueTime) {
  const WallTime friday = utc(2024, 3, 15, 10, 30);
  EXPECT_EQ(next("* * * * *", friday), friday + 1min) << "strictly later";
  EXPECT_EQ(next("* * * * *", friday - 1ms), friday);
  EXPECT_EQ(next("*/20 * * * *", friday), utc(2024, 3, 15, 10, 40));
  EXPECT_EQ(next("0 9-17/4 * * *", friday), utc(2024, 3, 15, 13));
  EXPECT_EQ(next("5,10 10 * * *", friday), utc(2024, 3, 16, 10, 5));
  EXPECT_EQ(next("0 0 1 JAN,jul *", friday), utc(2024, 7, 1));
  EXPECT_EQ(next("0 0 * * MON-WED", friday), utc(2024, 3, 18));
  EXPECT_EQ(next("0 0 * * 0", friday), utc(2024, 3, 17));
  EXPECT_EQ(next("0 0 * * 7", friday), utc(2024, 3, 17));
  EXPECT_EQ(next("0 0 * * SAT-SUN", utc(2024, 3, 16)), utc(2024, 3, 17));
  EXPECT_EQ(next("59 23 31 12 *", friday), utc(2024, 12, 31, 23, 59));
  EXPECT_EQ(next(" 0\t0  29 2 * ", friday), utc(2028, 2, 29));
  EXPECT_EQ(next("0 0 29 2 *", utc(2096, 2, 29)), utc(2104, 2, 29)) << "2100 is no leap year";
  EXPECT_EQ(next("0 0 29 2 */7", utc(1976, 2, 29)), utc(2004, 2, 29)) << "on a Sunday";
}

TEST(CronTest, WhenBothDayFieldsAreRestrictedEitherWillDo) {
  const WallTime start = utc(2024, 3, 1);  // A Friday.
  EXPECT_EQ(next("0 0 13 * FRI", start), utc(2024, 3, 8));
  EXPECT_EQ(next("0 0 13 * FRI", utc(2024, 3, 8)), utc(2024, 3, 13));
  EXPECT_EQ(next("0 0 30 2 MON", start), utc(2025, 2, 3)) << "February 30 alone would never come";
  // A field that begins with * restricts without choosing: both must fit.
  EXPECT_EQ(next("0 0 */2 * FRI", start), utc(2024, 3, 15));
}

TEST(CronTest, FollowsTheClocksOfItsZone) {
  EXPECT_EQ(next("0 9 * * *", utc(2024, 1, 10), "America/New_York"), utc(2024, 1, 10, 14));
  EXPECT_EQ(next("0 9 * * *", utc(2024, 7, 10), "America/New_York"), utc(2024, 7, 10, 13));
  EXPECT_EQ(next("0 0 1 * *", utc(2024, 6, 30, 15), "Pacific/Auckland"), utc(2024, 7, 31, 12));
}

TEST(CronTest, ALocalTimeThatIsSkippedIsDueOnceAtTheShift) {
  const WallTime shift = utc(2024, 3, 31, 1);  // 02:00 becomes 03:00.
  EXPECT_EQ(next("30 2 * * *", utc(2024, 3, 30, 12), "Europe/Berlin"), shift);
  EXPECT_EQ(next("30 2 * * *", shift, "Europe/Berlin"), utc(2024, 4, 1, 0, 30));
  // 02:00, 02:20, 02:40 and 03:00 fall on one instant and are one.
  EXPECT_EQ(next("*/20 2,3 * * *", utc(2024, 3, 31), "Europe/Berlin"), shift);
  EXPECT_EQ(next("*/20 2,3 * * *", shift, "Europe/Berlin"), shift + 20min);
}

TEST(CronTest, ALocalTimeThatHappensTwiceIsDueTheFirstTimeOnly) {
  const WallTime first = utc(2024, 10, 27, 0, 30);  // 02:30 in summer; again one hour later.
  EXPECT_EQ(next("30 2 * * *", utc(2024, 10, 26, 12), "Europe/Berlin"), first);
  EXPECT_EQ(next("30 2 * * *", first, "Europe/Berlin"), utc(2024, 10, 28, 1, 30));
  EXPECT_EQ(next("30 2 * * *", first + 30min, "Europe/Berlin"), utc(2024, 10, 28, 1, 30));
  EXPECT_EQ(next("*/30 * * * *", first, "Europe/Berlin"), utc(2024, 10, 27, 2));
}

TEST(CronTest, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "has 0 fields"},
      {"* * * *", "has 4 fields"},
      {"* * * * * *", "has 6 fields"},
      {"60 * * * *", "minute \"60\": \"60\" is not between 0 and 59"},
      {"* 24 * * *", "hour"},
      {"* * 0 * *", "day of month"},
      {"* * 32 * *", "day of month"},
      {"* * * 13 *", "month"},
      {"* * * FOO *", "\"FOO\" is not between 1 and 12"},
      {"* * * * 8", "day of week"},
      {"JAN * * * *", "minute"},
      {"5-1 * * * *", "backwards"},
      {"*/0 * * * *", "step"},
      {"*/x * * * *", "step"},
      {"5/15 * * * *", "a step needs * or a range"},
      {"1,,2 * * * *", "minute"},
      {"1- * * * *", "minute"},
      {"-1 * * * *", "minute"},
      {"0 0 30 2 *", "never comes"},
      {"0 0 31 4,6,9,11 *", "never comes"},
  };
  for (const auto& [text, why] : cases) {
    const auto parsed = CronExpression::parse(text);
    ASSERT_TRUE(parsed.is(Errc::kInvalid)) << text;
    EXPECT_NE(parsed.error().message.find(why), std::string::npos)
        << text << ": " << parsed.error().message;
  }
}

// In a fortnight around either shift of the clocks, whatever the time of day.
TEST(CronTest, IsDueExactlyOnceForEveryLocalTimeThatMatches) {
  Random random(7);
  const TimeZone berlin = *TimeZone::load("Europe/Berlin");
  for (int round = 0; round < 200; ++round) {
    const auto minute = static_cast<int>(random.below(60));
    const auto hour = static_cast<int>(random.below(24));
    const CronExpression daily =
        cron(std::to_string(minute) + " " + std::to_string(hour) + " * * *");
    for (const WallTime monday : {utc(2024, 3, 25), utc(2024, 10, 21)}) {
      const auto midnight = std::chrono::local_seconds(
          std::chrono::floor<std::chrono::seconds>(monday).time_since_epoch());
      const WallTime end = berlin.first_at(midnight + 14 * 24h);
      int runs = 0;
      WallTime t = WallTime(berlin.first_at(midnight)) - 1ms;
      while ((t = daily.next_after(t, berlin)) < end) ++runs;
      EXPECT_EQ(runs, 14) << hour << ":" << minute;
    }
  }
}

}  // namespace cron_test
}  // namespace muster
