#include "rpc/wire.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

namespace muster::rpc {

TEST(WireTest, TimeoutsAreDigitsAndAUnit) {
  EXPECT_EQ(parse_timeout("1H"), 1h);
  EXPECT_EQ(parse_timeout("2M"), 2min);
  EXPECT_EQ(parse_timeout("3S"), 3s);
  EXPECT_EQ(parse_timeout("4m"), 4ms);
  EXPECT_EQ(parse_timeout("5u"), std::chrono::microseconds(5));
  EXPECT_EQ(parse_timeout("6n"), std::chrono::nanoseconds(6));
  EXPECT_EQ(parse_timeout("0n"), 0s);
  EXPECT_EQ(parse_timeout("99999999H"), std::chrono::hours(24 * 365));
  for (const char* wrong : {"", "S", "1", "1s", "-1S", "+1S", " 1S", "1S ", "123456789S", "1.5S"}) {
    EXPECT_EQ(parse_timeout(wrong), std::nullopt) << wrong;
  }
}

TEST(WireTest, ATimeoutIsNeverWrittenShorterThanItIs) {
  EXPECT_EQ(format_timeout(-1s), "0n");
  EXPECT_EQ(format_timeout(1s), "1000000u");
  EXPECT_EQ(format_timeout(Duration(99'999'999)), "99999999n");
  EXPECT_EQ(format_timeout(Duration(100'000'001)), "100001u");
  EXPECT_EQ(format_timeout(std::chrono::hours(24 * 365 * 200)), "1752000H");
  for (const Duration each : {Duration(1), Duration(123'456'789), Duration(2s), Duration(36h)}) {
    EXPECT_GE(*parse_timeout(format_timeout(each)), each);
    EXPECT_LE(*parse_timeout(format_timeout(each)), each + each / 1000 + Duration(1));
  }
}

TEST(WireTest, MessagesSurviveHeaders) {
  const std::string text = "100 % of \xc3\xa4 line\nand \x01";
  EXPECT_EQ(percent_encode(text), "100 %25 of %C3%A4 line%0Aand %01");
  EXPECT_EQ(percent_decode(percent_encode(text)), text);
  EXPECT_EQ(percent_decode("%4"), "%4");
  EXPECT_EQ(percent_decode("%zz%41%"), "%zzA%");
}

TEST(WireTest, BinaryValuesAreBase64) {
  for (const std::string bytes : {"", "f", "fo", "foo", "foob", "\xff\xfe"}) {
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
  }
  EXPECT_EQ(base64_encode("foob"), "Zm9vYg");
  EXPECT_EQ(base64_decode("Zm9vYg=="), "foob");
  EXPECT_EQ(base64_decode("Zm9vY"), std::nullopt);
  EXPECT_EQ(base64_decode("Zm9v Yg"), std::nullopt);
}

TEST(WireTest, AnswersWithoutAStatusHaveOneAllTheSame) {
  EXPECT_EQ(code_of_http(404), Code::kUnimplemented);
  EXPECT_EQ(code_of_http(503), Code::kUnavailable);
  EXPECT_EQ(code_of_http(200), Code::kUnknown);
  EXPECT_EQ(code_of_reset(NGHTTP2_REFUSED_STREAM), Code::kUnavailable);
  EXPECT_EQ(code_of_reset(NGHTTP2_CANCEL), Code::kCancelled);
  EXPECT_EQ(code_of_reset(NGHTTP2_PROTOCOL_ERROR), Code::kInternal);
  EXPECT_EQ(parse_code("14"), Code::kUnavailable);
  EXPECT_EQ(parse_code("17"), Code::kUnknown);
  EXPECT_EQ(parse_code("x"), Code::kUnknown);
}

TEST(WireTest, OnlyGrpcIsGrpc) {
  for (const char* right : {"application/grpc", "application/grpc+proto", "application/grpc;x=1"}) {
    EXPECT_TRUE(is_grpc(right)) << right;
  }
  for (const char* wrong : {"", "application/grpc-web", "application/json", "text/plain"}) {
    EXPECT_FALSE(is_grpc(wrong)) << wrong;
  }
}

}  // namespace muster::rpc
