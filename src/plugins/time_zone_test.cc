#include "plugins/time_zone.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/time.h"

namespace muster {
namespace time_zone_test {

using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year;

sys_seconds utc(int y, unsigned m, unsigned d, int h = 0, int min = 0) {
  return sys_days(year(y) / std::chrono::month(m) / std::chrono::day(d)) + std::chrono::hours(h) +
         minutes(min);
}
local_seconds local(int y, unsigned m, unsigned d, int h = 0, int min = 0) {
  return local_seconds(utc(y, m, d, h, min).time_since_epoch());
}
TimeZone zone(const std::string& name) {
  auto loaded = TimeZone::load(name);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return *loaded;
}
ZoneRule rule(std::string_view text) {
  auto parsed = ZoneRule::parse(text);
  EXPECT_TRUE(parsed) << text;
  return *parsed;
}

TEST(TimeZoneTest, UtcNeedsNoDatabaseAndNeverShifts) {
  EXPECT_EQ(TimeZone().offset_at(utc(2024, 7, 1)), 0s);
  EXPECT_EQ(zone("UTC").first_at(local(2024, 7, 1, 12)), utc(2024, 7, 1, 12));
}

TEST(TimeZoneTest, KnowsThePastFromTheTableAndTheFutureFromTheRule) {
  const TimeZone berlin = zone("Europe/Berlin");
  EXPECT_EQ(berlin.offset_at(utc(1970, 7, 1)), 1h) << "no summer time in that year";
  EXPECT_EQ(berlin.offset_at(utc(2024, 3, 31, 0, 59)), 1h);
  EXPECT_EQ(berlin.offset_at(utc(2024, 3, 31, 1)), 2h);
  EXPECT_EQ(berlin.offset_at(utc(2090, 7, 1)), 2h);
  EXPECT_EQ(berlin.offset_at(utc(2090, 12, 31)), 1h);
  EXPECT_EQ(zone("America/New_York").offset_at(utc(2051, 7, 4)), -4h);
  EXPECT_EQ(zone("Australia/Lord_Howe").offset_at(utc(2051, 1, 1)), 11h);
  EXPECT_EQ(zone("Australia/Lord_Howe").offset_at(utc(2051, 7, 1)), 10h + 30min);
  EXPECT_EQ(zone("Europe/Dublin").offset_at(utc(2051, 7, 1)), 1h) << "its winter is the exception";
  EXPECT_EQ(zone("Europe/Dublin").offset_at(utc(2051, 1, 1)), 0h);
}

TEST(TimeZoneTest, ASkippedLocalTimeMeansTheShift) {
  const TimeZone berlin = zone("Europe/Berlin");
  EXPECT_EQ(berlin.first_at(local(2024, 3, 31, 1, 59)), utc(2024, 3, 31, 0, 59));
  EXPECT_EQ(berlin.first_at(local(2024, 3, 31, 2, 0)), utc(2024, 3, 31, 1));
  EXPECT_EQ(berlin.first_at(local(2024, 3, 31, 2, 30)), utc(2024, 3, 31, 1));
  EXPECT_EQ(berlin.first_at(local(2024, 3, 31, 3, 0)), utc(2024, 3, 31, 1));
  EXPECT_EQ(berlin.first_at(local(2024, 3, 31, 3, 1)), utc(2024, 3, 31, 1, 1));
  // Samoa went over the date line and had no December 30.
  EXPECT_EQ(zone("Pacific/Apia").first_at(local(2011, 12, 30, 12)), utc(2011, 12, 30, 10));
}

TEST(TimeZoneTest, ALocalTimeThatHappensTwiceMeansTheFirst) {
  const TimeZone york = zone("America/New_York");
  EXPECT_EQ(york.first_at(local(2024, 11, 3, 1, 30)), utc(2024, 11, 3, 5, 30));
  EXPECT_EQ(york.first_at(local(2024, 11, 3, 2, 0)), utc(2024, 11, 3, 7));
  EXPECT_EQ(york.first_at(local(2060, 11, 7, 1, 30)), utc(2060, 11, 7, 5, 30));
}

TEST(TimeZoneTest, RefusesNamesThatAreNoZones) {
  EXPECT_TRUE(TimeZone::load("").is(Errc::kInvalid));
  EXPECT_TRUE(TimeZone::load("/etc/localtime").is(Errc::kInvalid));
  EXPECT_TRUE(TimeZone::load("../../../etc/passwd").is(Errc::kInvalid));
  EXPECT_TRUE(TimeZone::load("Mars/Olympus").is(Errc::kNotFound));
  EXPECT_TRUE(TimeZone::load("Europe").is(Errc::kNotFound)) << "a directory";
}

TEST(TimeZoneTest, RefusesFilesThatAreCutShortOrDamaged) {
  std::ifstream in("/usr/share/zoneinfo/Europe/Berlin", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  ASSERT_TRUE(TimeZone::parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(TimeZone::parse(std::string_view(whole).substr(0, size)).is(Errc::kCorrupt))
        << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    const auto zone = TimeZone::parse(damaged);  // Refused or read, and never a crash.
    if (zone) (void)zone->first_at(local(2024, 3, 31, 2, 30));
  }
  EXPECT_TRUE(TimeZone::parse("TZif" + std::string(40, '\0')).is(Errc::kCorrupt)) << "version 1";
}

TEST(ZoneRuleTest, ReadsEveryFormOfTheRule) {
  EXPECT_EQ(rule("<+0330>-3:30").span_at(utc(2024, 1, 1)).offset, 3h + 30min);
  // A change at one hour before the day begins.
  const ZoneRule nuuk = rule("<-02>2<-01>,M3.5.0/-1,M10.5.0/0");
  EXPECT_EQ(nuuk.span_at(utc(2024, 3, 31, 0, 59)).offset, -2h);
  EXPECT_EQ(nuuk.span_at(utc(2024, 3, 31, 1)).offset, -1h);
  EXPECT_EQ(nuuk.span_at(utc(2024, 3, 31, 1)).end, utc(2024, 10, 27, 1));
  // J60 is March 1 in every year, 59 is February 29 in some.
  const ZoneRule by_day = rule("AAA0BBB,J60/0,300/0");
  EXPECT_EQ(by_day.span_at(utc(2024, 2, 29, 23)).offset, 0h);
  EXPECT_EQ(by_day.span_at(utc(2024, 3, 1)).offset, 1h);
  EXPECT_EQ(rule("AAA0BBB,59/0,300/0").span_at(utc(2024, 2, 29)).offset, 1h);
  EXPECT_EQ(rule("XXX3EDT4,0/0,J365/23").span_at(utc(2024, 1, 1, 3)).offset, -4h)
      << "summer all year long";
}

TEST(ZoneRuleTest, RefusesWhatIsNoRule) {
  for (const char* text :
       {"", "AB1", "CET", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J1",
        "CET-1CEST,366,1", "CET-1CEST,M3.5.0,M10.5.0x", "CET-168", "CET-1:60", "<A>1", "<AAA1"}) {
    EXPECT_TRUE(ZoneRule::parse(text).is(Errc::kCorrupt)) << text;
  }
}

}  // namespace time_zone_test
}  // namespace muster
