#include "core/cluster/reachability.h"

#include <gtest/gtest.h>

namespace muster::cluster {
namespace reachability_test {

constexpr MonoTime kBegin = MonoTime() + 100s;
constexpr Duration kPatience = 10s;

TEST(ReachabilityTest, SilenceCountsFromTheLastWordOrTheBeginningOfTheTerm) {
  Reachability reachability;
  reachability.begin(kBegin);
  reachability.heard("s2", kBegin + 2s);
  EXPECT_EQ(reachability.silence("s2", kBegin + 5s), 3s);
  EXPECT_EQ(reachability.silence("s3", kBegin + 5s), 5s);
  reachability.forget("s2");
  EXPECT_EQ(reachability.silence("s2", kBegin + 5s), 5s);
  reachability.begin(kBegin + 1h);
  EXPECT_EQ(reachability.silence("s3", kBegin + 1h), 0s);
}

TEST(ReachabilityTest, AServerIsThereOnceHeardAndGoneAfterTenSeconds) {
  Reachability reachability;
  reachability.begin(kBegin);
  reachability.heard("s2", kBegin + 2s);
  EXPECT_EQ(reachability.presence("s2", kBegin + 11s), Presence::kPresent);
  EXPECT_EQ(reachability.presence("s2", kBegin + 12s), Presence::kAbsent);
  EXPECT_EQ(reachability.presence("s3", kBegin + 9s), Presence::kUnknown);
  EXPECT_EQ(reachability.presence("s3", kBegin + 10s), Presence::kAbsent);
  EXPECT_STREQ(role_of(Presence::kAbsent), "unreachable");
}

TEST(ReachabilityTest, ALeaderThatNobodyReachesAnyMoreIsDeserted) {
  Reachability reachability;
  reachability.begin(kBegin);
  reachability.heard("s2", kBegin + 5s);
  reachability.heard("s3", kBegin + 6s);
  const MonoTime late = kBegin + 6s + kPatience;
  EXPECT_FALSE(reachability.deserted(2, kPatience, late - 1ms)) << "s3 was heard";
  EXPECT_TRUE(reachability.deserted(2, kPatience, late));
  EXPECT_TRUE(reachability.deserted(1, kPatience, late));
  EXPECT_FALSE(reachability.deserted(0, kPatience, late))
      << "the others are gone, and one must lead";
}

TEST(ReachabilityTest, TwoServersThatDoNotHearEachOtherDoNotTakeTurns) {
  Reachability reachability;
  reachability.begin(kBegin);
  EXPECT_FALSE(reachability.deserted(1, kPatience, kBegin + 1h));
  EXPECT_TRUE(reachability.deserted(2, kPatience, kBegin + kPatience));
  EXPECT_FALSE(reachability.deserted(2, kPatience, kBegin + kPatience - 1ms));
}

}  // namespace reachability_test
}  // namespace muster::cluster
