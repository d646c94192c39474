#include "store/remote/lineage.h"

#include <gtest/gtest.h>

namespace muster::remote {
namespace identity_test {

TEST(LineageTest, AnswersThatOvertookEachOtherAreNoStepBack) {
  Lineage identity("h:2379");
  const auto mark = identity.mark();
  EXPECT_TRUE(identity.observe(7, 12, mark));
  EXPECT_TRUE(identity.observe(7, 10, mark));
  EXPECT_EQ(identity.mark().floor, 12);
  EXPECT_EQ(identity.history(), 0u);
}

TEST(LineageTest, AStoreRestoredFromAnOlderCopyBeginsAnotherHistory) {
  Lineage identity("h:2379");
  EXPECT_TRUE(identity.observe(7, 12, {}));
  const auto before = identity.mark();
  EXPECT_TRUE(identity.observe(7, 11, before).is(Errc::kUnavailable));
  EXPECT_EQ(identity.history(), 1u);
  EXPECT_EQ(identity.mark().floor, 11);
  EXPECT_TRUE(identity.observe(7, 13, before).is(Errc::kUnavailable)) << "asked before";
  EXPECT_EQ(identity.history(), 1u);
  EXPECT_TRUE(identity.observe(7, 12, identity.mark()));
}

TEST(LineageTest, AnotherClusterBeginsAnotherHistory) {
  Lineage identity("h:2379");
  EXPECT_TRUE(identity.observe(7, 12, {}));
  EXPECT_TRUE(identity.observe(8, 99, identity.mark()).is(Errc::kUnavailable));
  EXPECT_TRUE(identity.observe(8, 99, identity.mark()));
  EXPECT_EQ(identity.history(), 1u);
}

TEST(LineageTest, WhoMustNotGoOnIsRefusedFromThenOn) {
  Lineage identity("h:2379", /*stop=*/true);
  EXPECT_TRUE(identity.observe(7, 12, {}));
  EXPECT_TRUE(identity.status());
  EXPECT_TRUE(identity.observe(7, 11, identity.mark()).is(Errc::kCorrupt));
  EXPECT_TRUE(identity.observe(7, 13, identity.mark()).is(Errc::kCorrupt));
  EXPECT_TRUE(identity.status().is(Errc::kCorrupt));
}

// The number of a revision is given out again after a step back, and means something else.
TEST(LineageTest, ARevisionOfOneHistoryIsNoneOfAnother) {
  Lineage identity("h:2379");
  EXPECT_TRUE(identity.observe(7, 12, {}));
  const Revision old = *identity.stamped(Result(Revision("12")));
  EXPECT_EQ(identity.own(old.value()), "12");
  (void)identity.observe(7, 11, identity.mark());
  EXPECT_EQ(identity.own(old.value()), "");
  const Revision now = *identity.stamped(Result(Revision("12")));
  EXPECT_NE(now, old);
  EXPECT_EQ(identity.own(now.value()), "12");
}

TEST(LineageTest, TheNextPageOfAListKeepsItsKeyWhateverThatIs) {
  EXPECT_EQ(unstamp("12 a~b").text, "12 a~b");
  EXPECT_EQ(unstamp(stamp(3, "12 a~b")).text, "12 a~b");
  EXPECT_EQ(unstamp(stamp(3, "12 a~b")).history, 3u);
}

}  // namespace identity_test
}  // namespace muster::remote
