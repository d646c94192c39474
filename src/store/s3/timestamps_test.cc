#include "store/s3/timestamps.h"

#include <gtest/gtest.h>

namespace muster::s3 {
namespace timestamps_test {

constexpr WallTime kThen = wall_from_ms(1'369'353'600'000);

TEST(TimestampsTest, WritesWhatSignaturesWant) {
  EXPECT_EQ(format_amz_date(kThen), "20130524T000000Z");
  EXPECT_EQ(format_amz_date(kThen + 86'399'999ms), "20130524T235959Z");
}

TEST(TimestampsTest, ReadsBothForms) {
  EXPECT_EQ(parse_http_date("Fri, 24 May 2013 00:00:00 GMT"), kThen);
  EXPECT_EQ(parse_iso_time("2013-05-24T00:00:00Z"), kThen);
  EXPECT_EQ(parse_iso_time("2013-05-24T00:00:07.123Z"), kThen + 7s);
}

TEST(TimestampsTest, RefusesWhatIsNoTime) {
  for (const char* text : {"", "24 May 2013", "Fri, 24 Mai 2013 00:00:00 GMT",
                           "Fri, 32 May 2013 00:00:00 GMT", "Fri, 24 May 2013 25:00:00 GMT"}) {
    EXPECT_FALSE(parse_http_date(text)) << text;
  }
  for (const char* text : {"", "2013-05-24", "2013-13-24T00:00:00Z", "2013-02-30T00:00:00Z",
                           "2013-05-24T00:00:00+02:00", "2013-05-24Txx:00:00Z"}) {
    EXPECT_FALSE(parse_iso_time(text)) << text;
  }
}

}  // namespace timestamps_test
}  // namespace muster::s3
