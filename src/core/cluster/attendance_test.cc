#include "core/cluster/attendance.h"

#include <gtest/gtest.h>

namespace muster::cluster {
namespace attendance_test {

constexpr MonoTime kBegin = MonoTime() + 100s;
constexpr Duration kPatience = 10s;

TEST(AttendanceTest, SilenceCountsFromTheLastWordOrTheBeginningOfTheTerm) {
  Attendance attendance;
  attendance.begin(kBegin);
  attendance.heard("s2", kBegin + 2s);
  EXPECT_EQ(attendance.silence("s2", kBegin + 5s), 3s);
  EXPECT_EQ(attendance.silence("s3", kBegin + 5s), 5s);
  attendance.forget("s2");
  EXPECT_EQ(attendance.silence("s2", kBegin + 5s), 5s);
  attendance.begin(kBegin + 1h);
  EXPECT_EQ(attendance.silence("s3", kBegin + 1h), 0s);
}

TEST(AttendanceTest, AServerIsThereOnceHeardAndGoneAfterTenSeconds) {
  Attendance attendance;
  attendance.begin(kBegin);
  attendance.heard("s2", kBegin + 2s);
  EXPECT_EQ(attendance.presence("s2", kBegin + 11s), Presence::kPresent);
  EXPECT_EQ(attendance.presence("s2", kBegin + 12s), Presence::kAbsent);
  EXPECT_EQ(attendance.presence("s3", kBegin + 9s), Presence::kUnknown);
  EXPECT_EQ(attendance.presence("s3", kBegin + 10s), Presence::kAbsent);
  EXPECT_STREQ(role_of(Presence::kAbsent), "unreachable");
}

TEST(AttendanceTest, ALeaderThatNobodyReachesAnyMoreIsDeserted) {
  Attendance attendance;
  attendance.begin(kBegin);
  attendance.heard("s2", kBegin + 5s);
  attendance.heard("s3", kBegin + 6s);
  const MonoTime late = kBegin + 6s + kPatience;
  EXPECT_FALSE(attendance.deserted(2, kPatience, late - 1ms)) << "s3 was heard";
  EXPECT_TRUE(attendance.deserted(2, kPatience, late));
  EXPECT_TRUE(attendance.deserted(1, kPatience, late));
  EXPECT_FALSE(attendance.deserted(0, kPatience, late)) << "the others are gone, and one must lead";
}

TEST(AttendanceTest, TwoServersThatDoNotHearEachOtherDoNotTakeTurns) {
  Attendance attendance;
  attendance.begin(kBegin);
  EXPECT_FALSE(attendance.deserted(1, kPatience, kBegin + 1h));
  EXPECT_TRUE(attendance.deserted(2, kPatience, kBegin + kPatience));
  EXPECT_FALSE(attendance.deserted(2, kPatience, kBegin + kPatience - 1ms));
}

}  // namespace attendance_test
}  // namespace muster::cluster
