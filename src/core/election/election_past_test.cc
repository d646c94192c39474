// E7: a store, or a state, of the past.
#include <gtest/gtest.h>

#include "core/election/election_test_scene.h"

namespace muster {
namespace election_past_test {

// R05: someone who could not know led on with an epoch that had been used. Its renewals do not
// protect it: "nobody" takes its place, and then a lease passes.
TEST(ElectionRecoveryTest, ALeaderWithAnEpochOfThePastIsEndedByWhoHasSeenALaterOne) {
  Scene scene;
  scene.wake(kStart);
  scene.reads(held_by("a", 7, 20s), "r1", kStart);
  scene.wake(kStart + 5s);
  scene.reads(held_by("c", 4), "r2", kStart + 5s);
  EXPECT_TRUE(scene.saw<StateTrouble>());
  scene.floor_is(4, kStart + 5s);
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().state.leader, std::nullopt);
  EXPECT_EQ(scene.asked<WriteState>().state.epoch, Epoch(7));
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r2"));
  scene.written("r3", kStart + 5s);
  scene.looks_again(kStart + 24s);
  EXPECT_FALSE(scene.request) << "the longest lease has not passed";
  scene.looks_again(kStart + 25s);
  scene.workers_are({}, kStart + 25s);
  scene.floor_is(4, kStart + 25s, 20s);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(8));
}

// R62: a standby `muster run` left such a leader alone, and a worker did not.
TEST(ElectionRecoveryTest, AWorkerThatMayNotCampaignEndsATermOfThePast) {
  Scene scene;
  scene.election.set_eligible(false, kStart);
  scene.wake(kStart);
  scene.reads(held_by("a", 1), "r1", kStart);
  scene.wake(kStart + 5s);
  scene.reads(held_by("c", 1), "r2", kStart + 5s);
  scene.floor_is(1, kStart + 5s);
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().state.leader, std::nullopt);
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r2"));
  scene.written("r3", kStart + 5s);
  scene.looks_again(kStart + 60s);
  EXPECT_FALSE(scene.request) << "it does not campaign";
}

// R62: each renewal of a leader of the past was a trouble event.
TEST(ElectionRecoveryTest, AStateThatWentBackIsReportedOnceForEachFinding) {
  Scene scene;
  scene.wake(kStart);
  scene.reads(held_by("a", 7), "r1", kStart);
  int reports = 0;
  const auto finds = [&](const LeaderState& state, const char* revision, MonoTime at) {
    scene.wake(at);
    scene.reads(state, revision, at);
    if (scene.saw<StateTrouble>()) ++reports;
    // The store refuses the write that would end the term.
    if (scene.asks<ReadFloor>()) scene.floor_is(4, at);
    if (!scene.asks<WriteState>()) return;
    scene.write_fails(Errc::kDenied, at);
    scene.reads_unchanged(at);
  };
  finds(held_by("c", 4), "r2", kStart + 5s);
  finds(held_by("c", 4), "r3", kStart + 10s);
  finds(held_by("c", 4), "r4", kStart + 15s);
  EXPECT_EQ(reports, 1);
  finds(held_by("c", 5), "r5", kStart + 20s);
  EXPECT_EQ(reports, 2);
  finds(held_by("c", 8), "r6", kStart + 25s);
  finds(held_by("c", 5), "r7", kStart + 30s);
  EXPECT_EQ(reports, 3) << "it went back again";
  // The worker's own write overcomes it: the same problem is news afterwards.
  scene.wake(kStart + 35s);
  scene.reads(held_by("c", 5), "r8", kStart + 35s);
  scene.floor_is(8, kStart + 35s);
  ASSERT_TRUE(scene.asks<WriteState>());
  scene.written("r9", kStart + 35s);
  finds(held_by("c", 5), "r10", kStart + 40s);
  EXPECT_EQ(reports, 4);
}

// R05: the same number, and another holder.
TEST(ElectionRecoveryTest, AnEpochThatWasSeenWithAnotherHolderIsOneOfThePast) {
  Scene scene;
  scene.wake(kStart);
  scene.reads(held_by("a", 7), "r1", kStart);
  scene.wake(kStart + 5s);
  scene.reads(held_by("c", 7), "r2", kStart + 5s);
  EXPECT_TRUE(scene.saw<StateTrouble>());
  scene.floor_is(7, kStart + 5s);
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().state.leader, std::nullopt);
}

// R05: the state looks like the latest one, and the store says that it is not what it was.
TEST(ElectionRecoveryTest, AfterTheStoreWentBackNobodyIsElectedBeforeTheLongestLease) {
  Scene scene;
  scene.wake(kStart);
  scene.store_went_back(kStart);
  ASSERT_TRUE(scene.saw<StateTrouble>());
  EXPECT_NE(scene.saw<StateTrouble>()->problem.find("went back in time"), std::string::npos);
  scene.reads(released_by("a", 3), "r1", kStart);
  EXPECT_FALSE(scene.request);
  scene.looks_again(kStart + 14s);
  EXPECT_FALSE(scene.request);
  scene.looks_again(kStart + 15s);
  EXPECT_TRUE(scene.request);
}

// R05: a term of one's own that the store has put back is not the one that is led.
TEST(ElectionRecoveryTest, ALeaderWhoseEarlierTermWasPutBackStepsDown) {
  Scene scene;
  scene.becomes_leader(kStart);
  LeaderState first = scene.election.last_state().value();
  scene.wake(kStart + 1s);
  scene.write_fails(Errc::kConflict, kStart + 1s);
  scene.reads(held_by("a", 2), "r2", kStart + 1s);
  scene.looks_again(kStart + 16s);
  scene.workers_are({}, kStart + 16s);
  scene.floor_is(2, kStart + 16s);
  scene.floor_raised(kStart + 16s);
  scene.written("r3", kStart + 16s);
  ASSERT_TRUE(scene.election.leads(kStart + 16s));
  scene.wake(kStart + 21s);
  scene.write_fails(Errc::kConflict, kStart + 21s);
  scene.reads(first, "r1", kStart + 21s);
  EXPECT_EQ(scene.saw<LostLeadership>()->reason, LossReason::kStateLost);
  EXPECT_FALSE(scene.election.leads(kStart + 21s));
}

}  // namespace election_past_test
}  // namespace muster
