#include <gtest/gtest.h>

#include "core/election/election_test_scene.h"

namespace muster {
namespace election_recovery_test {

// S09, E7: the epoch survives a state that was deleted, and a lease that may still run is waited
// out before anybody takes over.
TEST(ElectionRecoveryTest, ADeletedStateIsRecoveredAboveTheFloorAfterAFullLease) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_absent(kStart);
  scene.floor_is(7, kStart, 20s);
  EXPECT_FALSE(scene.request) << "someone may be about to acquire";
  EXPECT_LE(scene.election.wake_at(), kStart + 1s) << "a lease and two seconds, in all";
  scene.wake(kStart + 5s);
  scene.reads_absent(kStart + 5s);
  ASSERT_TRUE(scene.asks<WriteState>()) << "that nobody leads";
  EXPECT_EQ(scene.asked<WriteState>().state.leader, std::nullopt);
  EXPECT_EQ(scene.asked<WriteState>().state.epoch, Epoch(7));
  EXPECT_EQ(scene.asked<WriteState>().state.lease, 20s);
  EXPECT_EQ(scene.asked<WriteState>().at, std::nullopt);
  scene.written("r1", kStart + 5s);
  EXPECT_FALSE(scene.request);
  scene.looks_again(kStart + 24s);
  EXPECT_FALSE(scene.request) << "a lease may still run";
  scene.looks_again(kStart + 25s);
  scene.workers_are({}, kStart + 25s);
  scene.floor_is(7, kStart + 25s, 20s);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(8));
  scene.floor_raised(kStart + 25s);
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r1"));
  scene.written("r2", kStart + 25s);
  EXPECT_TRUE(scene.election.leads(kStart + 25s));
}

// E7: between two looks that found nothing someone acquired, led, and lost its state to a
// stranger. The floor is as it was at the first look, because it is raised before an epoch is
// acquired.
TEST(ElectionRecoveryTest, AnAbsenceIsNoProofThatNobodyLedMeanwhile) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_absent(kStart);
  scene.floor_is(1, kStart);
  // This process is stopped for a minute.
  scene.wake(kStart + 60s);
  scene.reads_absent(kStart + 60s);
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().state.leader, std::nullopt);
  scene.written("r1", kStart + 60s);
  EXPECT_FALSE(scene.election.leads(kStart + 60s));
  EXPECT_GE(scene.election.wake_at(), kStart + 61s);
  // Others that find it wait as long as this one does, and it is nobody's.
  Scene other(config_of("a"));
  LeaderState barrier;
  barrier.epoch = Epoch(1);
  barrier.lease = 15s;
  barrier.nonce = Nonce("n");
  other.wake(kStart + 60s);
  other.reads(barrier, "r1", kStart + 60s);
  EXPECT_FALSE(other.request);
  EXPECT_EQ(other.election.leader(kStart + 60s), std::nullopt);
  other.looks_again(kStart + 75s);
  EXPECT_TRUE(other.asks<ListWorkers>());
}

// R08: nobody has acquired anything, so the leader was not replaced.
TEST(ElectionRecoveryTest, ALeaderWhoseLostStateAnotherFoundFirstHasLostItsState) {
  Scene scene;
  scene.becomes_leader(kStart);
  scene.wake(kStart + 5s);
  ASSERT_TRUE(scene.asks<WriteState>());
  scene.write_fails(Errc::kConflict, kStart + 5s);
  LeaderState barrier;
  barrier.epoch = Epoch(1);
  barrier.lease = 15s;
  barrier.nonce = Nonce("another's");
  scene.reads(barrier, "r2", kStart + 5s);
  ASSERT_TRUE(scene.saw<LostLeadership>());
  EXPECT_EQ(scene.saw<LostLeadership>()->reason, LossReason::kStateLost);
  ASSERT_TRUE(scene.saw<StateTrouble>());
  EXPECT_NE(scene.saw<StateTrouble>()->problem.find("nobody"), std::string::npos);
}

// The same while a campaign was under way: the floor had been raised, and others have waited that
// out since.
TEST(ElectionRecoveryTest, ACampaignThatWasStoppedForLongBeginsAnew) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_absent(kStart);
  scene.floor_absent(kStart);
  scene.workers_are({}, kStart);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  scene.floor_raised(kStart + 60s);
  EXPECT_TRUE(scene.asks<ReadFloor>());
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
  scene.looks_again(kStart + 15s);
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
  scene.looks_again(kStart + 15s);
  scene.workers_are({}, kStart + 15s);
  EXPECT_FALSE(scene.request);
  EXPECT_NE(scene.saw<StateTrouble>()->problem.find("operator"), std::string::npos);
}

// A worker that has just started has seen no epoch that could tell it what was lost.
TEST(ElectionRecoveryTest, WithoutAFloorAnAbsentStateIsNoNewNamespace) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_absent(kStart);
  const SeenFloor unreadable{Revision("f"), {}, {}, "not a JSON object"};
  ElectionStep step = scene.election.floor_read(unreadable, kStart);
  EXPECT_FALSE(step.request);
  scene.wake(kStart + 60s);
  scene.reads_absent(kStart + 60s);
  ASSERT_TRUE(scene.asks<ReadFloor>());
  step = scene.election.floor_read(unreadable, kStart + 60s);
  EXPECT_FALSE(step.request) << "neither nobody nor itself is written down";
  ASSERT_EQ(step.events.size(), 1U);
  EXPECT_NE(std::get<StateTrouble>(step.events[0]).problem.find("operator"), std::string::npos);
}

// E7: anyone who led after it has raised the floor, and may still lead.
TEST(ElectionRecoveryTest, AnOldStateThatWasPutBackIsWaitedOutByWhoHasSeenNoOther) {
  Scene scene;
  scene.wake(kStart);
  scene.reads(released_by("a", 1), "r1", kStart);
  ASSERT_TRUE(scene.asks<ReadFloor>());
  scene.floor_is(2, kStart, 20s);
  EXPECT_FALSE(scene.request);
  EXPECT_LE(scene.election.wake_at(), kStart + 6s) << "it goes on looking";
  scene.looks_again(kStart + 19s);
  EXPECT_FALSE(scene.request);
  EXPECT_EQ(scene.election.wake_at(), kStart + 20s);
  scene.looks_again(kStart + 20s);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(3));
}

// The same where revisions are made of contents: the state is as this worker saw it last, long
// ago, and the floor tells that someone has led since.
TEST(ElectionRecoveryTest, AnOldStateThatWasPutBackAsItWasIsWaitedOut) {
  Scene scene;
  scene.wake(kStart);
  scene.reads(held_by("a", 1), "r1", kStart);
  scene.looks_again(kStart + 60s);
  scene.workers_are({}, kStart + 60s);
  scene.floor_is(2, kStart + 60s);
  EXPECT_FALSE(scene.request);
  scene.looks_again(kStart + 75s);
  EXPECT_TRUE(scene.asks<RaiseFloor>());
}

// A candidate that raised the floor and could not acquire does not wait for itself.
TEST(ElectionRecoveryTest, TheOwnFloorHidesNobody) {
  Scene scene;
  scene.wake(kStart);
  scene.reads(released_by("a", 1), "r1", kStart);
  scene.floor_is(1, kStart);
  scene.floor_raised(kStart);
  scene.write_fails(Errc::kUnavailable, kStart);
  scene.reads_unchanged(kStart);
  scene.looks_again(kStart + 1s);
  ASSERT_TRUE(scene.asks<ReadFloor>());
  scene.floor_is(2, kStart + 1s, 15s, "f2");
  EXPECT_TRUE(scene.asks<RaiseFloor>());
}

// "Absent" is the one condition that can come true again: the creation was under way for minutes.
TEST(ElectionRecoveryTest, AStateOfOursThatLandedLateIsNoReasonToLead) {
  Scene scene;
  scene.campaigns_in_a_new_namespace(kStart);
  const LeaderState sent = scene.asked<WriteState>().state;
  scene.write_fails(Errc::kAmbiguous, kStart + 1s);
  scene.reads_absent(kStart + 1s);
  scene.wake(kStart + 300s);
  scene.reads(sent, "r9", kStart + 300s);
  EXPECT_FALSE(scene.election.leads(kStart + 300s));
  ASSERT_TRUE(scene.asks<ReadFloor>());
  scene.floor_is(2, kStart + 300s);
  EXPECT_FALSE(scene.request) << "anyone who raised it may lead";
}

// Others count from the floor that they saw raised.
TEST(ElectionRecoveryTest, AnAcquisitionCountsFromTheRaiseOfItsFloor) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_absent(kStart);
  scene.floor_absent(kStart);
  scene.workers_are({}, kStart);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  scene.floor_raised(kStart + 2s);
  scene.written("r1", kStart + 3s);
  EXPECT_EQ(scene.election.deadline(), kStart + 12600ms);
}

// Anyone who wrote "nobody" knew of shorter leases only.
TEST(ElectionRecoveryTest, ABarrierIsWaitedOutForTheLongestLeaseThatTheFloorKnows) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_absent(kStart);
  scene.floor_is(1, kStart);
  scene.wake(kStart + 60s);
  scene.reads_absent(kStart + 60s);
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().state.lease, 15s);
  scene.written("r1", kStart + 60s);
  scene.looks_again(kStart + 75s);
  scene.workers_are({}, kStart + 75s);
  ASSERT_TRUE(scene.asks<ReadFloor>());
  scene.floor_is(1, kStart + 75s, 40s);
  EXPECT_FALSE(scene.request);
  scene.looks_again(kStart + 100s);
  EXPECT_TRUE(scene.asks<RaiseFloor>());
}

TEST(ElectionRecoveryTest, AStateThatTellsNothingWithoutAFloorIsNoNewNamespace) {
  Scene scene;
  scene.wake(kStart);
  scene.reads_garbage("r1", Epoch(0), kStart);
  scene.floor_absent(kStart);
  EXPECT_FALSE(scene.request);
  scene.looks_again(kStart + 15s);
  scene.workers_are({}, kStart + 15s);
  EXPECT_FALSE(scene.request);
  ASSERT_TRUE(scene.saw<StateTrouble>());
  EXPECT_NE(scene.saw<StateTrouble>()->problem.find("metadata.json is missing"), std::string::npos);
}

TEST(ElectionRecoveryTest, AFloorOfALaterVersionIsNotOverwritten) {
  Scene scene;
  scene.wake(kStart);
  scene.reads(released_by("a", 1), "r1", kStart);
  scene.floor_unreadable("format 2", true, kStart);
  EXPECT_FALSE(scene.request);
  ASSERT_TRUE(scene.saw<StateTrouble>());
  EXPECT_NE(scene.saw<StateTrouble>()->problem.find("upgraded"), std::string::npos);
}

TEST(ElectionRecoveryTest, ADamagedFloorIsRebuiltFromTheState) {
  Scene scene;
  scene.wake(kStart);
  scene.reads(released_by("a", 4), "r1", kStart);
  scene.floor_unreadable("not a JSON object", false, kStart);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  EXPECT_EQ(scene.asked<RaiseFloor>().floor, Epoch(5));
  EXPECT_EQ(scene.asked<RaiseFloor>().at, Revision("f"));
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

// R13: a worker that is stopped between the two writes of an acquisition has raised the floor. It
// says that the epoch was never led, or everybody would wait a lease for its leader.
TEST(ElectionTest, WhoStopsInMidCampaignCostsNobodyALease) {
  Scene scene;
  scene.wake(kStart);
  scene.reads(released_by("a", 3), "r1", kStart);
  scene.floor_is(3, kStart);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  scene.resign({.stop = true, .preferred = {}}, kStart);
  scene.floor_raised(kStart);
  ASSERT_TRUE(scene.asks<WriteState>());
  const LeaderState left = scene.asked<WriteState>().state;
  EXPECT_EQ(left.leader, std::nullopt);
  EXPECT_EQ(left.epoch, Epoch(4));
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r1"));
  scene.written("r2", kStart);
  EXPECT_TRUE(scene.saw<Resigned>());
  EXPECT_FALSE(scene.election.leads(kStart));
  EXPECT_TRUE(scene.election.stopped());

  Scene next(config_of("c"));
  next.wake(kStart);
  next.reads(left, "r2", kStart);
  next.floor_is(4, kStart);
  if (next.asks<ListWorkers>()) next.workers_are({}, kStart);
  const MonoTime turn = kStart + 1s;
  if (!next.request) next.looks_again(turn);
  ASSERT_TRUE(next.asks<RaiseFloor>()) << "no lease is waited for";
  EXPECT_EQ(next.asked<RaiseFloor>().floor, Epoch(5));
}

}  // namespace election_recovery_test
}  // namespace muster
