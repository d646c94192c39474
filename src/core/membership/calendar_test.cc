#include "core/membership/calendar.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::membership {
namespace calendar_test {

constexpr Duration kTenYears = 24h * 3652;

LogTime log(std::int64_t ms) {
  return log_time_from_ms(ms);
}
WallTime wall(std::int64_t ms) {
  return wall_from_ms(1'700'000'000'000 + ms);
}
WallTime off(WallTime wall, Duration by) {
  return wall + std::chrono::duration_cast<std::chrono::milliseconds>(by);
}

TEST(CalendarTest, LogTimeIsItsOwnLabelUntilAClockSaysOtherwise) {
  const Calendar calendar;
  EXPECT_EQ(calendar.label(log(1'700'000'000'000)), wall(0));
}

TEST(CalendarTest, OneMarkIsEnoughWhileTheClockRunsAsLogTimeDoes) {
  Calendar calendar;
  for (std::int64_t ms = 0; ms < 100'000; ms += 100) calendar.note(log(ms), wall(ms + ms % 900));
  EXPECT_EQ(calendar.marks().size(), 1U);
  EXPECT_EQ(calendar.label(log(50'000)), wall(50'000));
}

TEST(CalendarTest, ATimeKeepsTheLabelOfTheClockThatShowedIt) {
  for (const Duration by : {kTenYears, -kTenYears, Duration(3h)}) {
    Calendar calendar;
    calendar.note(log(0), wall(0));
    calendar.note(log(1000), off(wall(1000), by));
    calendar.note(log(2000), wall(2000));
    EXPECT_EQ(calendar.label(log(500)), wall(500));
    EXPECT_EQ(calendar.label(log(1500)), off(wall(1500), by));
    EXPECT_EQ(calendar.label(log(9000)), wall(9000));
  }
}

TEST(CalendarTest, ClocksThatJumpForEverCostNoMoreThanSoMuch) {
  Calendar calendar;
  calendar.note(log(0), wall(0));
  for (int i = 1; i < 5000; ++i) calendar.note(log(i), off(wall(i), (i % 2) * kTenYears));
  EXPECT_EQ(calendar.marks().size(), Calendar::kMarksMax);
  EXPECT_EQ(calendar.label(log(0)), wall(0));
  EXPECT_EQ(calendar.label(log(4999)), off(wall(4999), kTenYears));
}

TEST(CalendarTest, DamagedMarksAreRefused) {
  Calendar calendar;
  EXPECT_TRUE(calendar.restore({{log(1), wall(1)}, {log(2), wall(0)}}));
  EXPECT_FALSE(calendar.restore({{log(2), wall(1)}, {log(2), wall(2)}}));
  EXPECT_FALSE(calendar.restore(std::vector<Calendar::Mark>(Calendar::kMarksMax + 1)));
  EXPECT_EQ(calendar.marks().size(), 2U);
}

TEST(CalendarTest, TimesAtTheEndsOfTheirRangeDoNoHarm) {
  Calendar calendar;
  calendar.note(log(INT64_MIN), wall(0));
  calendar.note(log(INT64_MAX), wall(5000));
  EXPECT_EQ(calendar.label(log(INT64_MIN)), wall(0));
  EXPECT_EQ(calendar.label(log(INT64_MAX)), wall(5000));
}

}  // namespace calendar_test
}  // namespace muster::membership
