#include "store/remote/identity.h"

#include <gtest/gtest.h>

namespace muster::remote {
namespace identity_test {

TEST(IdentityTest, AnswersThatOvertookEachOtherAreNoStepBack) {
  Identity identity("h:2379");
  const std::int64_t floor = identity.floor();
  EXPECT_TRUE(identity.observe(7, 12, floor));
  EXPECT_TRUE(identity.observe(7, 10, floor));
  EXPECT_EQ(identity.floor(), 12);
}

TEST(IdentityTest, AStoreRestoredFromAnOlderCopyIsRefusedFromThenOn) {
  Identity identity("h:2379");
  EXPECT_TRUE(identity.observe(7, 12, 0));
  EXPECT_TRUE(identity.observe(7, 11, identity.floor()).is(Errc::kCorrupt));
  EXPECT_TRUE(identity.observe(7, 13, 0).is(Errc::kCorrupt));
  EXPECT_TRUE(identity.status().is(Errc::kCorrupt));
}

TEST(IdentityTest, AnotherClusterIsRefused) {
  Identity identity("h:2379");
  EXPECT_TRUE(identity.observe(7, 12, 0));
  EXPECT_TRUE(identity.observe(8, 99, 0).is(Errc::kCorrupt));
}

}  // namespace identity_test
}  // namespace muster::remote
