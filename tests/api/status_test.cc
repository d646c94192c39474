#include <muster/log.h>
#include <muster/status.h>
#include <muster/version.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace api_status_test {

using muster::Code;
using muster::Error;
using muster::Result;
using muster::Status;

TEST(PublicStatusTest, ValueOfAnErrorThrowsItsMessage) {
  const Result<int> failed = Error{Code::kDenied, "the key is not accepted; check AWS_PROFILE"};
  EXPECT_FALSE(failed.ok());
  EXPECT_TRUE(failed.is(Code::kDenied));
  try {
    std::printf("%d\n", failed.value());
    FAIL() << "value() returned";
  } catch (const muster::BadResult& bad) {
    EXPECT_STREQ(bad.what(), "the key is not accepted; check AWS_PROFILE");
    EXPECT_EQ(bad.code(), Code::kDenied);
  }
  EXPECT_THROW((void)Result<int>(1).error(), std::logic_error);
}

TEST(PublicStatusTest, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> made(std::make_unique<int>(7));
  EXPECT_EQ(**made, 7);
  EXPECT_EQ(*std::move(made).value(), 7);
  EXPECT_TRUE(made.message().empty());
}

// They are in the ABI, and in programs in other languages.
TEST(PublicStatusTest, CodesKeepTheirNumbers) {
  const Code codes[] = {Code::kNotFound,  Code::kUnchanged,   Code::kConflict,  Code::kAmbiguous,
                        Code::kThrottled, Code::kUnavailable, Code::kDenied,    Code::kUnsupported,
                        Code::kInvalid,   Code::kCorrupt,     Code::kCancelled, Code::kTimeout};
  int number = 0;
  std::string names;
  for (const Code code : codes) {
    EXPECT_EQ(static_cast<int>(code), ++number);
    names += std::string(to_string(code)) + " ";
  }
  EXPECT_EQ(names,
            "kNotFound kUnchanged kConflict kAmbiguous kThrottled kUnavailable kDenied "
            "kUnsupported kInvalid kCorrupt kCancelled kTimeout ");
  EXPECT_STREQ(to_string(static_cast<Code>(0)), "unknown");
}

TEST(PublicStatusTest, HeadersAndLibraryHaveOneVersion) {
  const std::string headers = std::to_string(MUSTER_VERSION_MAJOR) + "." +
                              std::to_string(MUSTER_VERSION_MINOR) + "." +
                              std::to_string(MUSTER_VERSION_PATCH);
  EXPECT_EQ(muster::version(), headers);
}

}  // namespace api_status_test
