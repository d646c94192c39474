#include "core/election/election.h"

#include <gtest/gtest.h>

#include "core/election/election_test_scene.h"

namespace muster {
namespace election_test {

TEST(ElectionTest, TheFirstWorkerOfANewNamespaceLeadsAtOnceWithEpochOne) {
  Scene scene;
  scene.wake(kStart);
  ASSERT_TRUE(scene.asks<ReadState>());
  scene.reads_absent(kStart);
  ASSERT_TRUE(scene.asks<ReadFloor>());
  scene.floor_absent(kStart);
  ASSERT_TRUE(scene.asks<ListWorkers>());
  scene.workers_are({WorkerId("b"), WorkerId("c")}, kStart);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(1));
  scene.floor_raised(kStart);
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().at, std::nullopt);
  EXPECT_FALSE(scene.election.leads(kStart));
  scene.written("r1", kStart + 1s);
  EXPECT_TRUE(scene.election.leads(kStart + 1s));
  EXPECT_EQ(scene.saw<BecameLeader>()->epoch, Epoch(1));
}

// P20, E2: the deadline counts from the send, and leads() compares with it when asked (S04, C03).
TEST(ElectionTest, LeadershipEndsAtTheDeadlineWhetherTheStoreIsReachableOrNot) {
  Scene scene;
  scene.becomes_leader(kStart);
  EXPECT_TRUE(scene.election.leads(kStart + 12599ms));
  EXPECT_FALSE(scene.election.leads(kStart + 12600ms));
  scene.wake(kStart + 5s);
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.election.wake_at(), kStart + 12600ms);
  scene.wake(kStart + 12600ms);
  EXPECT_EQ(scene.saw<LostLeadership>()->reason, LossReason::kExpired);
}

// S01, E1: a failed compare-and-swap never promotes.
TEST(ElectionTest, AFailedCompareAndSwapNeverPromotes) {
  Scene scene;
  scene.campaigns_in_a_new_namespace(kStart);
  scene.write_fails(Errc::kConflict, kStart);
  EXPECT_FALSE(scene.election.leads(kStart));
  ASSERT_TRUE(scene.asks<ReadState>());
  scene.reads(held_by("a", 1), "r1", kStart);
  EXPECT_FALSE(scene.election.leads(kStart));
  EXPECT_EQ(scene.election.leader(kStart), WorkerId("a"));
}

// P01, E6: a write reported as lost that stands in the store with our nonce was ours.
TEST(ElectionTest, AnOwnWriteFoundByItsNonceCountsFromItsSend) {
  Scene scene;
  scene.campaigns_in_a_new_namespace(kStart);
  const LeaderState sent = scene.asked<WriteState>().state;
  scene.write_fails(Errc::kConflict, kStart + 2s);
  scene.reads(sent, "r1", kStart + 3s);
  EXPECT_TRUE(scene.election.leads(kStart + 3s));
  EXPECT_EQ(scene.election.deadline(), kStart + 12600ms);
}

// S02: the epoch comes from the very read that the swap is made at, and from the floor.
TEST(ElectionTest, ALostRaceIsFollowedByAnEpochAboveTheWinners) {
  Scene scene;
  scene.campaigns_in_a_new_namespace(kStart);
  scene.write_fails(Errc::kConflict, kStart);
  const LeaderState released = released_by("a", 3);
  scene.reads(released, "r5", kStart);
  scene.floor_is(3, kStart);
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(4));
  scene.floor_raised(kStart);
  EXPECT_EQ(scene.asked<WriteState>().state.epoch, Epoch(4));
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r5"));
}

// The work was led before, by an election in another store.
TEST(ElectionTest, AnEpochFromElsewhereIsRisenAbove) {
  Scene scene;
  scene.election.rise_above(Epoch(7));
  scene.election.rise_above(Epoch(5));
  scene.wake(kStart);
  scene.reads_absent(kStart);
  scene.floor_absent(kStart);
  scene.workers_are({}, kStart);
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(8));
  scene.floor_raised(kStart);
  EXPECT_EQ(scene.asked<WriteState>().state.epoch, Epoch(8));
  scene.written("r1", kStart);
  EXPECT_TRUE(scene.election.leads(kStart)) << "nobody can hold a lease here: there is no wait";
}

TEST(ElectionTest, AnAmbiguousRenewalThatHasNotLandedIsFollowedOnlyByOneAtTheSameRevision) {
  Scene scene;
  scene.becomes_leader(kStart);
  scene.wake(kStart + 5s);
  const LeaderState first = scene.asked<WriteState>().state;
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r1"));
  scene.write_fails(Errc::kAmbiguous, kStart + 6s);
  ASSERT_TRUE(scene.asks<ReadState>());
  scene.reads_unchanged(kStart + 6s);
  EXPECT_FALSE(scene.request);
  scene.wake(scene.election.wake_at());
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r1"));
  EXPECT_NE(scene.asked<WriteState>().state.nonce, first.nonce);
  // The first one landed after all, so the second lost; the term counts from the first's send.
  scene.write_fails(Errc::kConflict, kStart + 8s);
  scene.reads(first, "r2", kStart + 8s);
  EXPECT_EQ(scene.election.deadline(), kStart + 5s + 12600ms);
}

// E1: a renewal confirmed after the deadline does not revive the term; a new epoch begins one.
TEST(ElectionTest, ALateRenewalDoesNotReviveTheTerm) {
  Scene scene;
  scene.becomes_leader(kStart);
  scene.wake(kStart + 12s);
  scene.written("r2", kStart + 13s);
  EXPECT_TRUE(scene.saw<LostLeadership>());
  EXPECT_FALSE(scene.election.leads(kStart + 13s));
  ASSERT_TRUE(scene.asks<ReadFloor>());
  scene.floor_is(1, kStart + 13s);
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(2));
  scene.floor_raised(kStart + 13s);
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r2"));
  scene.written("r3", kStart + 13s);
  EXPECT_EQ(scene.saw<BecameLeader>()->epoch, Epoch(2));
}

// S10, E3: the observer's own boot clock decides, not what anybody wrote.
TEST(ElectionTest, TakeoverWaitsAFullLeaseFromTheFirstReceiptAndSwapsAtThatRevision) {
  Scene scene;
  LeaderState state = held_by("a", 4);
  state.written_at = wall_from_ms(0);  // Long expired, if wall clocks counted.
  scene.wake(kStart);
  scene.reads(state, "r9", kStart);
  EXPECT_FALSE(scene.request);
  EXPECT_EQ(scene.election.wake_at(), kStart + 5s);
  scene.looks_again(kStart + 14s);
  EXPECT_FALSE(scene.request);
  EXPECT_EQ(scene.election.wake_at(), kStart + 15s);
  scene.looks_again(kStart + 15s);
  scene.workers_are({WorkerId("a"), WorkerId("b")}, kStart + 15s);
  scene.floor_is(4, kStart + 15s);
  scene.floor_raised(kStart + 15s);
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r9"));
  EXPECT_EQ(scene.asked<WriteState>().state.epoch, Epoch(5));
}

TEST(ElectionTest, ALeaseIsAsLongAsItsHolderWrote) {
  Scene scene;
  scene.wake(kStart);
  scene.reads(held_by("a", 1, 40s), "r1", kStart);
  scene.looks_again(kStart + 39s);
  EXPECT_FALSE(scene.request);
}

// C04, E4: no preemption by a smaller name.
TEST(ElectionTest, ALiveLeaderIsNeverDisplacedByASmallerId) {
  Scene scene(config_of("a"));
  scene.wake(kStart);
  scene.reads(held_by("z", 3), "r1", kStart);
  EXPECT_FALSE(scene.request);
  scene.wake(kStart + 5s);
  scene.reads(held_by("z", 3), "r2", kStart + 5s);
  EXPECT_FALSE(scene.request);
}

TEST(ElectionTest, WhoIsNotFirstWaitsOneTurnAndThenTries) {
  Scene scene(config_of("c"));
  LeaderState state = held_by("a", 1);
  state.workers = {WorkerId("a"), WorkerId("b"), WorkerId("c")};
  scene.wake(kStart);
  scene.reads(state, "r1", kStart);
  scene.looks_again(kStart + 15s);
  EXPECT_FALSE(scene.request);
  const MonoTime turn = scene.election.wake_at();
  EXPECT_GE(turn, kStart + 15500ms);
  EXPECT_LE(turn, kStart + 16s);
  scene.looks_again(turn);
  EXPECT_TRUE(scene.asks<ReadFloor>());
}

// C06, P23, E5: sending a release ends the term here, whatever comes back.
TEST(ElectionTest, AReleaseEndsTheTermWhenItIsSent) {
  Scene scene;
  scene.becomes_leader(kStart);
  scene.resign({.stop = true, .preferred = {}}, kStart + 1s);
  EXPECT_EQ(scene.saw<LostLeadership>()->reason, LossReason::kReleased);
  EXPECT_FALSE(scene.election.leads(kStart + 1s));
  ASSERT_TRUE(scene.asks<WriteState>());
  const LeaderState release = scene.asked<WriteState>().state;
  EXPECT_EQ(release.leader, std::nullopt);
  EXPECT_EQ(release.epoch, Epoch(1));
  EXPECT_EQ(release.released->incarnation, Incarnation("incarnation-of-b"));
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r1"));
  scene.write_fails(Errc::kAmbiguous, kStart + 4s);
  EXPECT_FALSE(scene.election.leads(kStart + 4s));
  scene.reads(release, "r2", kStart + 5s);
  EXPECT_TRUE(scene.saw<Resigned>()->released);
  EXPECT_TRUE(scene.election.stopped());
}

TEST(ElectionTest, AReleaseThatFindsAnotherHolderErasesNothing) {
  Scene scene;
  scene.becomes_leader(kStart);
  scene.resign({.stop = true, .preferred = {}}, kStart + 1s);
  scene.write_fails(Errc::kConflict, kStart + 2s);
  scene.reads(held_by("a", 2), "r2", kStart + 2s);
  EXPECT_FALSE(scene.request);
  EXPECT_FALSE(scene.saw<Resigned>()->released);
}

// C01: without a holder there is nothing to wait for, and a receipt saves the successor the lease.
TEST(ElectionTest, AReleasedLeaseIsAcquiredAtOnceWithTheNextEpoch) {
  Scene scene;
  LeaderState released = held_by("a", 6);
  released.leader.reset();
  released.released = ReleaseReceipt{WorkerId("a"), Incarnation("incarnation-of-a"), Epoch(6)};
  released.workers = {WorkerId("a"), WorkerId("b")};
  scene.wake(kStart);
  scene.reads(released, "r1", kStart);
  ASSERT_TRUE(scene.asks<ReadFloor>());
  scene.floor_is(6, kStart);
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(7));
}

// A floor read before someone else led is out of date; using it would cost a failed write.
TEST(ElectionTest, AFloorReadBeforeTheStateChangedIsReadAgain) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_absent(kStart);
  scene.floor_absent(kStart);
  scene.workers_are({WorkerId("a"), WorkerId("b")}, kStart);
  const LeaderState released = released_by("a", 1);
  scene.wake(kStart + 1s);
  scene.reads(released, "r2", kStart + 1s);
  ASSERT_TRUE(scene.asks<ReadFloor>());
  scene.floor_is(1, kStart + 1s);
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(2));
}

TEST(ElectionTest, WhoSteppedDownDoesNotWinAgainAtOnce) {
  Scene scene;
  scene.becomes_leader(kStart);
  scene.resign({.hold_off = 30s, .preferred = {}}, kStart + 1s);
  scene.written("r2", kStart + 1s);
  scene.looks_again(kStart + 6s);
  EXPECT_FALSE(scene.request);
  scene.looks_again(kStart + 31s);
  EXPECT_TRUE(scene.asks<ListWorkers>());
}

// C02, P08: after a healed partition the loser learns of it at its first look.
TEST(ElectionTest, ALeaderThatFindsAnotherHolderStepsDownAtOnce) {
  Scene scene;
  scene.becomes_leader(kStart);
  scene.wake(kStart + 5s);
  scene.write_fails(Errc::kAmbiguous, kStart + 6s);
  scene.reads(held_by("a", 2), "r7", kStart + 6s);
  EXPECT_EQ(scene.saw<LostLeadership>()->reason, LossReason::kReplaced);
  EXPECT_EQ(scene.saw<LeaderChanged>()->current, WorkerId("a"));
}

// S05, E8: a second process with our id is another holder, and is reported once.
TEST(ElectionTest, AnotherIncarnationOfTheOwnIdIsNotUs) {
  Scene scene;
  LeaderState state = held_by("b", 2);
  state.incarnation = Incarnation("someone-else");
  scene.wake(kStart);
  scene.reads(state, "r1", kStart);
  EXPECT_FALSE(scene.request);
  EXPECT_FALSE(scene.election.leads(kStart));
  scene.wake(kStart + 5s);
  scene.reads(state, "r2", kStart + 5s);
  EXPECT_EQ(scene.saw<DuplicateWorker>()->other, Incarnation("someone-else"));
  scene.wake(kStart + 10s);
  scene.reads(state, "r3", kStart + 10s);
  EXPECT_FALSE(scene.saw<DuplicateWorker>());
}

// A worker that was killed while it led and comes back under its name finds its own last state.
TEST(ElectionTest, AnEarlierLifeThatIsSilentIsNoSecondProcess) {
  Scene scene;
  LeaderState state = held_by("b", 2);
  state.incarnation = Incarnation("killed");
  scene.wake(kStart);
  scene.reads(state, "r1", kStart);
  EXPECT_FALSE(scene.saw<DuplicateWorker>());
  scene.wake(kStart + 5s);
  scene.reads(state, "r1", kStart + 5s);
  EXPECT_FALSE(scene.saw<DuplicateWorker>());
}

// E9: elected by a worker that knows no incarnations, we do not lead; we may claim at epoch + 1.
TEST(ElectionTest, AStateThatNamesUsWithoutIncarnationIsClaimedWithTheNextEpoch) {
  Scene scene;
  LeaderState state = held_by("b", 5);
  state.incarnation = Incarnation();
  scene.wake(kStart);
  scene.reads(state, "r1", kStart);
  EXPECT_FALSE(scene.election.leads(kStart));
  scene.floor_absent(kStart);
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(6));
}

TEST(ElectionTest, AnIneligibleWorkerObservesAndNeverCampaigns) {
  Scene scene;
  (void)scene.election.set_eligible(false, kStart);
  scene.wake(kStart);
  scene.reads_absent(kStart);
  EXPECT_FALSE(scene.request);
  EXPECT_GT(scene.election.wake_at(), kStart);
}

TEST(ElectionTest, AStoreThatRefusesWritesIsNotHammered) {
  Scene scene;
  scene.campaigns_in_a_new_namespace(kStart);
  scene.write_fails(Errc::kAmbiguous, kStart);
  scene.reads_absent(kStart);
  EXPECT_FALSE(scene.request);
  EXPECT_GE(scene.election.wake_at(), kStart + 500ms);
  scene.wake(kStart + 1s);
  scene.reads_absent(kStart + 1s);
  EXPECT_TRUE(scene.asks<ReadFloor>());
}

TEST(ElectionTest, AReleaseThatDoesNotLandIsTriedAgainAfterAWait) {
  Scene scene;
  scene.becomes_leader(kStart);
  scene.resign({.stop = true, .preferred = {}}, kStart + 1s);
  scene.write_fails(Errc::kAmbiguous, kStart + 1s);
  scene.reads_unchanged(kStart + 1s);
  EXPECT_FALSE(scene.request);
  scene.looks_again(kStart + 2s);
  EXPECT_TRUE(scene.asks<WriteState>());
}

// R02: for as long as it asks, and at most for a heartbeat.
TEST(ElectionTest, AThrottledStoreIsLeftAloneForAHeartbeatAtMost) {
  for (const Duration asked : {3s, 5s, 9s, 3600s}) {
    Scene scene;
    scene.wake(kStart);
    auto step = scene.election.state_read(Error{Errc::kThrottled, "slow down", asked}, kStart);
    EXPECT_FALSE(step.request);
    EXPECT_EQ(scene.election.wake_at(), kStart + std::min<Duration>(asked, 5s));
  }
}

// R22: a mistake that someone must mend is not asked about every second.
TEST(ElectionTest, WhatDoesNotPassByItselfIsLookedAtWithEachHeartbeat) {
  Scene scene;
  scene.wake(kStart);
  (void)scene.election.state_read(Error{Errc::kDenied, "no permission"}, kStart);
  EXPECT_EQ(scene.election.wake_at(), kStart + 5s);
}

// R02: anyone who leads asks the sooner, the less of its lease is left.
TEST(ElectionTest, ALeaderDoesNotWaitItsLeaseOutBecauseAStoreIsBusy) {
  Scene scene;
  scene.becomes_leader(kStart);
  const MonoTime deadline = *scene.election.deadline();
  MonoTime now = kStart + 5s;
  int attempts = 0;
  const Error busy{Errc::kThrottled, "slow down", 1h};
  for (; now < deadline; now = scene.election.wake_at(), ++attempts) {
    scene.wake(now);
    if (scene.asks<WriteState>()) (void)scene.election.state_written(busy, now);
    (void)scene.election.state_read(busy, now);
  }
  EXPECT_GE(attempts, 4);
}

}  // namespace election_test
}  // namespace muster
