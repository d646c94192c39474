#include "cli/certificate_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cli {
namespace certificate_index_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WallTime kNoon = wall_from_ms(1'800'000'000'000);

CertificateIndex sample() {
  return {4,
          {{"ab", "n1", "node", kNoon, kNoon + 1h, {}},
           {"cd", "n2", "node", kNoon, kNoon + 1h, kNoon + 1min},
           {"ef", "n1", "node", kNoon + 1min, kNoon + 2h, {}}}};
}

TEST(CertificateIndexTest, IsReadBackAsItWasWritten) {
  const CertificateIndex read = CertificateIndex::from_json(sample().to_json()).value();
  EXPECT_EQ(read.to_json(), sample().to_json());
  EXPECT_EQ(read.crl_number, 4u);
  ASSERT_EQ(read.certificates.size(), 3u);
  EXPECT_EQ(read.certificates[1].revoked, kNoon + 1min);
  EXPECT_FALSE(read.certificates[2].revoked.has_value());
}

TEST(CertificateIndexTest, RevokingAnIdRevokesEveryCertificateOfIt) {
  CertificateIndex index = sample();
  EXPECT_THAT(index.revoke("n1", kNoon + 5min), ElementsAre("ab", "ef"));
  EXPECT_EQ(index.certificates[0].revoked, kNoon + 5min);
  EXPECT_THAT(index.revoke("n1", kNoon + 6min), IsEmpty());
  // The first time stays.
  EXPECT_THAT(index.revoke("n2", kNoon + 6min), IsEmpty());
  EXPECT_EQ(index.certificates[1].revoked, kNoon + 1min);
  EXPECT_TRUE(index.knows("n1"));
  EXPECT_FALSE(index.knows("n"));
}

TEST(CertificateIndexTest, ADamagedOneIsNotGuessedAt) {
  const std::string good = sample().to_json();
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), good.substr(0, good.size() / 2),
        std::string(R"({"version":2,"crlNumber":1,"certificates":[]})"),
        std::string(R"({"version":1,"crlNumber":1,"certificates":[{"serial":"ab"}]})")}) {
    EXPECT_TRUE(CertificateIndex::from_json(text).is(Errc::kCorrupt)) << text;
  }
}

}  // namespace certificate_index_test
}  // namespace muster::cli
