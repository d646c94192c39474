#include "server/security/crl_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "server/security/tls_test_authority.h"

namespace muster::server {
namespace crl_marks_test {

using ::testing::HasSubstr;

TEST(CrlMarksTest, WhatWasKeptIsReadBackAndIsForTheOwnerOnly) {
  const TestDirectory directory;
  const CrlMarks marks(directory.file("data"));
  EXPECT_TRUE(marks.load().value().empty());
  const std::vector<security::RevocationMark> all{
      {"CN=A \"quoted\"", "ab12", wall_from_ms(1'800'000'000'000)},
      {"CN=B", "cd", wall_from_ms(1'700'000'000'000)}};
  ASSERT_TRUE(marks.save(all).ok());
  EXPECT_EQ(marks.load().value(), all);
  struct stat facts {};
  ASSERT_EQ(::stat((directory.file("data") + "/crl-marks.json").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST(CrlMarksTest, ADamagedFileIsNotTakenForAnEmptyOne) {
  const TestDirectory directory;
  const CrlMarks marks(directory.file("."));
  for (const char* damaged :
       {"", "{}", "[1]", "[{}]", "[{\"issuer\":1,\"key\":\"k\",\"thisUpdate\":1}]",
        "[{\"issuer\":\"CN=A\",\"key\":\"k\",\"thisUpdate\":\"1\"}]", "[{\"issuer\":\"CN=A\""}) {
    directory.write("crl-marks.json", damaged);
    const auto loaded = marks.load();
    ASSERT_TRUE(loaded.is(Errc::kInvalid)) << damaged;
    EXPECT_THAT(loaded.error().message, HasSubstr("crl-marks.json is damaged"));
  }
}

}  // namespace crl_marks_test
}  // namespace muster::server
