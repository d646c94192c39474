#include <gtest/gtest.h>

#include "core/election/election_test_scene.h"

namespace muster {
namespace {

// S09, E7: the epoch survives a state that was deleted, and a lease that may still run is waited
// out before anybody takes over.
TEST(ElectionRecoveryTest, ADeletedStateIsRecoveredAboveTheFloorAfterAFullLease) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_absent(kStart);
  scene.floor_is(7, kStart, 20s);
  EXPECT_FALSE(scene.request);
  scene.wake(kStart + 20s);
  scene.reads_absent(kStart + 20s);
  scene.workers_are({}, kStart + 20s);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(8));
}

// S18: corrupt state is reported and recovered from without lowering the epoch.
TEST(ElectionRecoveryTest, ACorruptStateIsReportedAndRecoveredFromAboveItsEpoch) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_garbage("r1", Epoch(12), kStart);
  EXPECT_TRUE(scene.saw<StateTrouble>());
  ASSERT_TRUE(scene.asks<ReadFloor>());
  scene.floor_is(3, kStart);
  EXPECT_FALSE(scene.request);
  scene.wake(kStart + 15s);
  scene.reads_unchanged(kStart + 15s);
  scene.workers_are({}, kStart + 15s);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(13));
}

TEST(ElectionRecoveryTest, WithoutStateAndFloorItRefusesUntilAnOperatorActs) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_garbage("r1", Epoch(0), kStart);
  const SeenFloor unreadable{Revision("f"), {}, {}, "not a JSON object"};
  auto step = scene.election.floor_read(unreadable, kStart);
  EXPECT_FALSE(step.request);
  scene.wake(kStart + 15s);
  scene.reads_unchanged(kStart + 15s);
  scene.workers_are({}, kStart + 15s);
  EXPECT_FALSE(scene.request);
  EXPECT_NE(scene.saw<StateTrouble>()->problem.find("operator"), std::string::npos);
}

TEST(ElectionRecoveryTest, ALeaderWhoseStateVanishedStepsDown) {
  Scene scene;
  scene.becomes_leader(kStart);
  scene.wake(kStart + 5s);
  scene.write_fails(Errc::kConflict, kStart + 5s);
  scene.reads_absent(kStart + 5s);
  EXPECT_EQ(scene.saw<LostLeadership>()->reason, LossReason::kStateLost);
  EXPECT_FALSE(scene.election.leads(kStart + 5s));
}

}  // namespace
}  // namespace muster
