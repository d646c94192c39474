#include "core/cluster/upgrade.h"

#include <gtest/gtest.h>

namespace muster::cluster {
namespace upgrade_test {

constexpr MonoTime kBegin = MonoTime() + 100s;

class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest() {
    reachability_.begin(kBegin);
    for (const char* id : {"s1", "s2", "s3"}) servers_[id].level = 2;
  }
  Status ask(MonoTime now, std::uint64_t level = 2) {
    return understood_by_all(level, servers_, reachability_, now);
  }

  Reachability reachability_;
  std::map<std::string, ServerEntry> servers_;
};

TEST_F(UpgradeTest, ANewCommandWaitsForTheLastServerThatIsThere) {
  servers_["s3"].level = 1;
  reachability_.heard("s3", kBegin + 5s);
  const Status refused = ask(kBegin + 6s);
  ASSERT_TRUE(refused.is(Errc::kUnsupported));
  EXPECT_NE(refused.error().message.find("s3"), std::string::npos) << refused.error().message;
  servers_["s3"].level = 2;
  EXPECT_TRUE(ask(kBegin + 6s));
}

TEST_F(UpgradeTest, WhatEveryServerEverUnderstoodWaitsForNobody) {
  servers_["s3"].level = 0;
  EXPECT_TRUE(ask(kBegin, 1));
}

TEST_F(UpgradeTest, AServerTakenBackHoldsItUpAgain) {
  EXPECT_TRUE(ask(kBegin + 1s));
  servers_["s2"].level = 1;
  reachability_.heard("s2", kBegin + 2s);
  EXPECT_TRUE(ask(kBegin + 3s).is(Errc::kUnsupported));
}

TEST_F(UpgradeTest, AServerThatIsGoneHoldsNothingUpOnceItsTimeIsOver) {
  servers_["s3"].level = 1;
  reachability_.heard("s3", kBegin + 1s);
  EXPECT_TRUE(ask(kBegin + 1s + kAbsentAfter - 1ms).is(Errc::kUnsupported));
  EXPECT_TRUE(ask(kBegin + 1s + kAbsentAfter));
}

TEST_F(UpgradeTest, ANewTermGivesEverybodyTimeToSpeak) {
  servers_["s3"].level = 1;
  reachability_.heard("s3", kBegin);
  const MonoTime later = kBegin + 1h;
  EXPECT_TRUE(ask(later));
  reachability_.begin(later);
  EXPECT_TRUE(ask(later).is(Errc::kUnsupported));
  EXPECT_EQ(reachability_.silence("s3", later + 3s), 3s);
}

TEST_F(UpgradeTest, AForgottenServerHoldsNothingUp) {
  servers_["s3"].level = 1;
  reachability_.heard("s3", kBegin);
  reachability_.forget("s3");
  servers_.erase("s3");
  EXPECT_TRUE(ask(kBegin));
}

TEST_F(UpgradeTest, AnAnnouncementIsNewsWhenAnythingInItDiffers) {
  const ServerEntry known{"h:1", "0.1", 1, {}, {}};
  EXPECT_TRUE(same(known, {"s1", "h:1", "0.1", 1, {}}));
  EXPECT_FALSE(same(known, {"s1", "h:2", "0.1", 1, {}}));
  EXPECT_FALSE(same(known, {"s1", "h:1", "0.2", 1, {}}));
  EXPECT_FALSE(same(known, {"s1", "h:1", "0.1", 2, {}}));
}

}  // namespace upgrade_test
}  // namespace muster::cluster
