#include "core/membership/wire.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::membership {
namespace wire_test {

using namespace std::string_literals;

TEST(WireTest, BytesAreThoseOfTheProtobufWireFormat) {
  WireWriter out;
  out.number(1, 150);
  out.text(2, "testing");
  out.number(3, 0);
  out.text(4, "");
  out.message(16, "");
  EXPECT_EQ(out.bytes(), "\x08\x96\x01\x12\x07testing\x82\x01\x00"s);
}

TEST(WireTest, NumbersOfEverySizeReturn) {
  for (const std::uint64_t value : {std::uint64_t{1}, std::uint64_t{127}, std::uint64_t{128},
                                    std::uint64_t{UINT32_MAX}, std::uint64_t{UINT64_MAX}}) {
    WireWriter out;
    out.number(5, value);
    WireReader in(out.bytes());
    ASSERT_TRUE(in.next());
    EXPECT_EQ(in.field(), 5U);
    EXPECT_EQ(in.number(), value);
    EXPECT_FALSE(in.next());
    EXPECT_FALSE(in.failed());
  }
}

TEST(WireTest, TimesBeforeTheEpochReturn) {
  WireWriter out;
  out.time(1, log_time_from_ms(-5));
  WireReader in(out.bytes());
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in.time(), log_time_from_ms(-5));
}

TEST(WireTest, DamagedFieldsFailForGood) {
  const std::string damaged[] = {
      "\x08"s,                                          // A tag without its value.
      "\x08\x80"s,                                      // A varint that does not end.
      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s,  // More than 64 bits.
      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
      "\x12\x05"s
      "abc",                                            // Shorter than it says.
      "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,  // Longer than any input.
      "\x12"s,
      "\x09\x01\x02"s,  // A cut fixed64.
      "\x0d\x01"s,      // A cut fixed32.
      "\x0b"s,          // A group.
      "\x0e"s,          // A type that does not exist.
      "\x00\x01"s,      // Field number 0.
  };
  for (const std::string& bytes : damaged) {
    WireReader in(bytes);
    EXPECT_FALSE(in.next());
    EXPECT_TRUE(in.failed());
    EXPECT_FALSE(in.next());
  }
}

TEST(WireTest, AValueOfAnotherTypeOrOutOfRangeIsAFault) {
  WireWriter out;
  out.number(1, 300);
  WireReader as_text(out.bytes());
  ASSERT_TRUE(as_text.next());
  EXPECT_EQ(as_text.text(), "");
  EXPECT_TRUE(as_text.failed());
  WireReader as_byte(out.bytes());
  ASSERT_TRUE(as_byte.next());
  EXPECT_EQ(as_byte.number(255), 0U);
  EXPECT_TRUE(as_byte.failed());
  WireWriter text;
  text.text(1, std::string(kTextBytesMax + 1, 'x'));
  WireReader too_long(text.bytes());
  ASSERT_TRUE(too_long.next());
  EXPECT_EQ(too_long.text(), "");
  EXPECT_TRUE(too_long.failed());
}

TEST(WireTest, UnknownFieldsOfEveryTypeAreKeptAsTheyAre) {
  const std::string bytes =
      "\x08\x96\x01\x12\x02hi\x19"
      "12345678\x25"
      "abcd"s;
  std::string kept;
  WireReader in(bytes);
  while (in.next()) in.keep(kept);
  EXPECT_FALSE(in.failed());
  EXPECT_EQ(kept, bytes);
}

TEST(WireTest, UnknownFieldsHaveABound) {
  WireWriter out;
  out.text(9, std::string(kUnknownBytesMax, 'x'));
  std::string kept;
  WireReader in(out.bytes());
  ASSERT_TRUE(in.next());
  in.keep(kept);
  EXPECT_TRUE(in.failed());
  EXPECT_TRUE(kept.empty());
}

}  // namespace wire_test
}  // namespace muster::membership
