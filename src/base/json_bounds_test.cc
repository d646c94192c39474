#include "base/json_bounds.h"

#include <gmock/gmock.h>

#include <string>

namespace muster {
namespace json_bounds_test {

using ::testing::HasSubstr;

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(JsonBoundsTest, WhatAnHonestWriterWritesIsWithin) {
  EXPECT_TRUE(check_json_bounds("").ok());
  EXPECT_TRUE(check_json_bounds(R"({"epoch":1,"workers":["a","b"],"released":{"epoch":1}})").ok());
  EXPECT_TRUE(
      check_json_bounds("[" + repeated("\"0b6f9a3e-pod-with-a-long-name\",", 100'000) + "\"z\"]")
          .ok());
  EXPECT_TRUE(check_json_bounds(repeated("[", kJsonDepthMax) + repeated("]", kJsonDepthMax)).ok());
}

TEST(JsonBoundsTest, EachBoundIsNamed) {
  EXPECT_THAT(check_json_bounds(repeated("[", kJsonDepthMax + 1)).error().message,
              HasSubstr("nests deeper than 32 levels"));
  EXPECT_THAT(check_json_bounds(repeated("{\"a\":", kJsonDepthMax + 1)).error().message,
              HasSubstr("nests deeper"));
  EXPECT_THAT(check_json_bounds("[" + repeated("{},", kJsonValuesMax) + "0]").error().message,
              HasSubstr("more than 250000 values"));
  EXPECT_THAT(check_json_bounds(std::string(kJsonBytesMax + 1, ' ')).error().message,
              HasSubstr("larger than 16 MB"));
  EXPECT_TRUE(check_json_bounds(repeated("[", 100)).is(Errc::kCorrupt));
}

TEST(JsonBoundsTest, BracketsInTextAreNoLevels) {
  EXPECT_TRUE(check_json_bounds("\"" + repeated("[{,", 100'000) + "\"").ok());
  EXPECT_TRUE(check_json_bounds(R"(["\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["])").ok());
  EXPECT_TRUE(check_json_bounds(R"(["\\",)" + repeated("[", kJsonDepthMax)).is(Errc::kCorrupt))
      << "the text has ended before";
  EXPECT_TRUE(check_json_bounds(repeated("[]", 1000)).ok());
  EXPECT_TRUE(check_json_bounds("]]]]}}}}").ok());
}

}  // namespace json_bounds_test
}  // namespace muster
