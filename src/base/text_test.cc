#include "base/text.h"

#include <gtest/gtest.h>

namespace muster {
namespace text_test {

TEST(TextTest, DurationsReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("5s").value(), 5s);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
  EXPECT_EQ(parse_duration("2m").value(), 2min);
  EXPECT_EQ(parse_duration("1h").value(), 1h);
  EXPECT_EQ(parse_duration("0").value(), 0s);
  for (const char* bad : {"", "5", "s", "-1s", "5 s", "5sec", "1e3s", "..s", "99999999999h"}) {
    EXPECT_TRUE(parse_duration(bad).is(Errc::kInvalid)) << bad;
  }
}

TEST(TextTest, ADurationThatIsTooLongIsCalledSo) {  // R66
  EXPECT_EQ(parse_duration("300000h").error().message, "\"300000h\" is too long a time");
}

TEST(TextTest, DurationsFormatToWhatReadsBack) {
  for (const Duration d : {Duration(250ms), Duration(5s), Duration(2min), Duration(3h)}) {
    EXPECT_EQ(parse_duration(format_duration(d)).value(), d);
  }
  EXPECT_EQ(format_duration(90s), "90s");
}

TEST(TextTest, NumbersAreReadStrictly) {
  EXPECT_EQ(parse_unsigned("5000"), 5000u);
  for (const char* bad : {"", "-1", "+1", " 1", "1 ", "1x", "99999999999999999999999"}) {
    EXPECT_EQ(parse_unsigned(bad), std::nullopt) << bad;
  }
}

TEST(TextTest, AllFormsOfTrueAndFalseAreKnown) {
  for (const char* yes : {"true", "TRUE", "1", "yes", "On"}) EXPECT_TRUE(parse_bool(yes).value());
  for (const char* no : {"false", "0", "No", "off"}) EXPECT_FALSE(parse_bool(no).value());
  EXPECT_TRUE(parse_bool("maybe").is(Errc::kInvalid));
}

TEST(TextTest, TheNearestNameIsSuggestedOnlyWhenNear) {
  const std::vector<std::string> names = {"heartbeatInterval", "leaseTimeout"};
  EXPECT_EQ(nearest("heartbeatIntervall", names), "heartbeatInterval");
  EXPECT_EQ(nearest("leasetimeout", names), "leaseTimeout");
  EXPECT_EQ(nearest("banana", names), "");
}

TEST(TextTest, PercentEscapesAreDecodedOrRefused) {
  EXPECT_EQ(percent_decode("a%20b%3D").value(), "a b=");
  for (const char* bad : {"%", "%2", "a%zz"}) EXPECT_TRUE(percent_decode(bad).is(Errc::kInvalid));
}

TEST(TextTest, ControlCharactersAreSpeltOut) {
  EXPECT_EQ(without_controls("a\n\x1b[31mX\x7f"), "a\\x0a\\x1b[31mX\\x7f");
  EXPECT_EQ(without_controls("\xc2\x9b"
                             "31m"),
            "\\x9b31m")
      << "the escape in one character";
  for (const char* shown : {"", "w1", "größer → 9", "\xc2\xa0", "\xc2"}) {
    EXPECT_FALSE(has_controls(shown));
    EXPECT_EQ(without_controls(shown), shown);
  }
}

TEST(TextTest, TellsTextFromOtherBytes) {
  for (const char* text : {"", "plain", "caf\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  // Cut off, a stray continuation, overlong, a surrogate, above the last, bytes of no encoding.
  for (const char* bytes : {"\xc3", "\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
                            "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf", "a\xff", "\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(bytes));
  }
  EXPECT_TRUE(is_utf8(std::string_view("\0", 1)));
}

}  // namespace text_test
}  // namespace muster
