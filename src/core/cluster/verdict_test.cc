#include "core/cluster/verdict.h"

#include <gtest/gtest.h>

namespace muster::cluster {
namespace verdict_test {

HealthSight well() {
  return {.waiting = "", .engine = "etcd", .engine_trouble = "", .age = 2s, .leader_known = true};
}

TEST(VerdictTest, AServerThatLacksNothingIsHealthyWithoutAWord) {
  EXPECT_EQ(judge(well()), (Verdict{true, ""}));
}

TEST(VerdictTest, EveryIllnessHasItsReason) {
  HealthSight sight = well();
  sight.leader_known = false;
  EXPECT_EQ(judge(sight), (Verdict{false, "no server leads; an election is under way"}));
  sight.age = 12s + 400ms;
  EXPECT_EQ(judge(sight), (Verdict{false, "the engine (etcd) has not answered for 12s"}));
  sight.engine_trouble = "no quorum: 1 of 3 servers up; start s2 or s3";
  EXPECT_EQ(judge(sight), (Verdict{false, sight.engine_trouble})) << "the cause before its effect";
  sight = well();
  sight.waiting = "this server is loading its state";
  EXPECT_EQ(judge(sight), (Verdict{false, "this server is loading its state"}));
}

// R49
TEST(VerdictTest, AServerThatRefusesEveryCertificateIsNotHealthy) {
  HealthSight sight = well();
  sight.refuses_all = "there is no revocation list yet";
  EXPECT_EQ(judge(sight),
            (Verdict{false, "every certificate is refused: there is no revocation list yet"}));
}

TEST(VerdictTest, AStoreThatFailsIsReportedWithItsReasonAndARemedyAndWithoutPlaces) {
  EXPECT_EQ(store_trouble("file", "cannot write /srv/new/7: no space left on the disk"),
            "the engine (file) fails: cannot write …: no space left on the disk; free some space "
            "there");
  EXPECT_EQ(store_trouble("etcd", "10.0.0.7:2379, or https://e1:2379/x, is gone"),
            "the engine (etcd) fails: …, or …, is gone; see the log of this server");
}

TEST(VerdictTest, AHealthyServerSaysWhoIsMissing) {
  HealthSight sight = well();
  sight.servers = {{"s1", Presence::kPresent}, {"s2", Presence::kUnknown}};
  EXPECT_EQ(judge(sight), (Verdict{true, ""}));
  sight.servers["s3"] = Presence::kAbsent;
  EXPECT_EQ(
      judge(sight),
      (Verdict{true, "2 of 3 servers up; start s3, or remove servers that are gone for good"}));
}

}  // namespace verdict_test
}  // namespace muster::cluster
