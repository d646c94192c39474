// A worker whose term's owner is elsewhere: it renews when told, and takes over terms that began
// elsewhere.
#include <gtest/gtest.h>

#include "core/election/election_test_scene.h"

namespace muster {
namespace election_told_test {

ElectionConfig told_config(std::optional<Epoch> resumed = {}) {
  ElectionConfig config = config_of("b");
  config.renews_when_told = true;
  config.resumed = resumed;
  return config;
}

class OwnerElsewhere : public Scene {
 public:
  explicit OwnerElsewhere(std::optional<Epoch> resumed = {}) : Scene(told_config(resumed)) {}

  void beat(std::uint64_t number, MonoTime at) { take(election.told(number, at)); }
  /// From nothing to leading, at revision r1, with the beats 0 and 1 before.
  void leads_from(MonoTime at) {
    beat(0, at);
    reads_absent(at);
    floor_absent(at);
    workers_are({}, at);
    beat(1, at);
    floor_raised(at);
    written("r1", at);
    ASSERT_TRUE(election.leads(at));
  }
};

/// The held time of the default lease.
const Duration kHeld = LeaseTerms{}.held();

TEST(ElectionToldTest, ALeaderRenewsOnceForEachBeatAndForNothingElse) {
  OwnerElsewhere scene;
  scene.leads_from(kStart);
  // Beat 1 came after the floor was raised, so it is renewed for at once.
  ASSERT_TRUE(scene.asks<WriteState>());
  scene.written("r2", kStart);
  EXPECT_EQ(scene.saw<LeaseRenewed>()->beat, 1U);
  EXPECT_FALSE(scene.request);
  scene.wake(kStart + 6s);
  EXPECT_TRUE(scene.asks<ReadState>()) << "a wake renews nothing";
  scene.reads_unchanged(kStart + 6s);
  EXPECT_FALSE(scene.request);
  scene.beat(2, kStart + 7s);
  ASSERT_TRUE(scene.asks<WriteState>());
  scene.written("r3", kStart + 8s);
  ASSERT_TRUE(scene.saw<LeaseRenewed>());
  EXPECT_EQ(scene.saw<LeaseRenewed>()->beat, 2U);
  EXPECT_EQ(scene.saw<LeaseRenewed>()->deadline, kStart + 7s + kHeld);
  scene.wake(kStart + 9s);
  EXPECT_TRUE(scene.asks<ReadState>());
}

TEST(ElectionToldTest, WithoutBeatsTheTermEnds) {
  OwnerElsewhere scene;
  scene.leads_from(kStart);
  scene.written("r2", kStart);
  EXPECT_EQ(scene.election.wake_at(), kStart + kHeld);
  scene.wake(kStart + kHeld);
  ASSERT_TRUE(scene.saw<LostLeadership>());
  EXPECT_EQ(scene.saw<LostLeadership>()->reason, LossReason::kExpired);
}

TEST(ElectionToldTest, AGrantCountsFromTheLastBeatBeforeTheFloorWasRaised) {
  OwnerElsewhere scene;
  scene.beat(0, kStart);
  scene.reads_absent(kStart);
  scene.floor_absent(kStart + 1s);
  scene.beat(1, kStart + 2s);
  scene.workers_are({}, kStart + 3s);
  ASSERT_TRUE(scene.asks<RaiseFloor>());
  scene.beat(2, kStart + 4s);
  scene.floor_raised(kStart + 5s);
  scene.written("r1", kStart + 6s);
  ASSERT_TRUE(scene.saw<BecameLeader>());
  EXPECT_EQ(scene.saw<BecameLeader>()->beat, 1U);
  EXPECT_EQ(scene.saw<BecameLeader>()->deadline, kStart + 2s + kHeld);
  EXPECT_FALSE(scene.saw<BecameLeader>()->resumed);
}

TEST(ElectionToldTest, AnOwnerThatIsSilentAcquiresNothingUntilItsNextBeat) {
  OwnerElsewhere scene;
  scene.beat(0, kStart);
  scene.reads(held_by("a", 3), "r1", kStart);
  scene.wake(kStart + 15s);
  scene.reads_unchanged(kStart + 15s);
  EXPECT_FALSE(scene.request) << "the lease of \"a\" is over, and the owner is silent";
  scene.beat(1, kStart + 16s);
  EXPECT_TRUE(scene.asks<ReadState>());
  scene.reads_unchanged(kStart + 16s);
  EXPECT_TRUE(scene.asks<ListWorkers>());
}

TEST(ElectionToldTest, ABeatThatComesWhileARenewalIsUnderWayIsRenewedForAfterIt) {
  OwnerElsewhere scene;
  scene.leads_from(kStart);
  scene.beat(2, kStart + 1s);
  EXPECT_FALSE(scene.request);
  scene.written("r2", kStart + 2s);
  EXPECT_EQ(scene.saw<LeaseRenewed>()->beat, 1U);
  ASSERT_TRUE(scene.asks<WriteState>()) << "for beat 2";
  scene.written("r3", kStart + 2s);
  EXPECT_EQ(scene.saw<LeaseRenewed>()->beat, 2U);
  EXPECT_EQ(scene.saw<LeaseRenewed>()->deadline, kStart + 1s + kHeld);
}

TEST(ElectionToldTest, ARenewalThatIsFoundLaterConfirmsItsOwnBeatOnly) {
  OwnerElsewhere scene;
  scene.leads_from(kStart);
  const Nonce lost = scene.asked<WriteState>().state.nonce;
  LeaderState landed = scene.asked<WriteState>().state;
  scene.write_fails(Errc::kAmbiguous, kStart + 1s);
  scene.beat(2, kStart + 2s);
  scene.reads(landed, "r2", kStart + 3s);
  ASSERT_TRUE(scene.saw<LeaseRenewed>());
  EXPECT_EQ(scene.saw<LeaseRenewed>()->beat, 1U);
  ASSERT_TRUE(scene.asks<WriteState>()) << "for beat 2";
  EXPECT_NE(scene.asked<WriteState>().state.nonce, lost);
}

TEST(ElectionToldTest, ATermThatBeganElsewhereGoesOnAtTheRevisionThatShowsIt) {
  OwnerElsewhere scene(Epoch(5));
  scene.beat(0, kStart);
  scene.reads(held_by("b", 5), "r7", kStart + 1s);
  EXPECT_FALSE(scene.election.leads(kStart + 1s)) << "no renewal has landed";
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r7"));
  EXPECT_EQ(scene.asked<WriteState>().state.epoch, Epoch(5));
  scene.written("r8", kStart + 2s);
  ASSERT_TRUE(scene.saw<BecameLeader>());
  EXPECT_TRUE(scene.saw<BecameLeader>()->resumed);
  EXPECT_EQ(scene.saw<BecameLeader>()->epoch, Epoch(5));
  EXPECT_EQ(scene.saw<BecameLeader>()->deadline, kStart + kHeld);
}

// The server before had sent a renewal, which lands only now.
TEST(ElectionToldTest, ATermGoesOnAfterALateRenewalOfTheServerBefore) {
  OwnerElsewhere scene(Epoch(5));
  scene.beat(0, kStart);
  scene.reads(held_by("b", 5), "r7", kStart);
  scene.write_fails(Errc::kConflict, kStart + 1s);
  scene.reads(held_by("b", 5), "r8", kStart + 1s);
  EXPECT_FALSE(scene.election.leads(kStart + 1s)) << "that was no renewal of this beat";
  ASSERT_TRUE(scene.asks<WriteState>());
  EXPECT_EQ(scene.asked<WriteState>().at, Revision("r8"));
  scene.written("r9", kStart + 1s);
  EXPECT_TRUE(scene.saw<BecameLeader>());
}

void is_lost(OwnerElsewhere& scene, LossReason why, MonoTime at) {
  EXPECT_FALSE(scene.request);
  ASSERT_TRUE(scene.saw<LostLeadership>());
  EXPECT_EQ(scene.saw<LostLeadership>()->reason, why);
  EXPECT_EQ(scene.saw<LostLeadership>()->epoch, Epoch(5));
  scene.wake(at + 60s);
  EXPECT_FALSE(scene.request) << "it takes no part any more";
}

TEST(ElectionToldTest, ATermOfAnotherEpochOrHolderDoesNotGoOn) {
  OwnerElsewhere later(Epoch(5));
  later.beat(0, kStart);
  later.reads(held_by("b", 6), "r7", kStart);
  is_lost(later, LossReason::kReplaced, kStart);
  OwnerElsewhere other(Epoch(5));
  other.beat(0, kStart);
  other.reads(held_by("a", 5), "r7", kStart);
  is_lost(other, LossReason::kReplaced, kStart);
  OwnerElsewhere ended(Epoch(5));
  ended.beat(0, kStart);
  ended.reads(released_by("b", 5), "r7", kStart);
  is_lost(ended, LossReason::kReplaced, kStart);
  OwnerElsewhere gone(Epoch(5));
  gone.beat(0, kStart);
  gone.reads_absent(kStart);
  is_lost(gone, LossReason::kStateLost, kStart);
}

TEST(ElectionToldTest, ATermDoesNotGoOnWhenItIsReadTooLate) {
  OwnerElsewhere scene(Epoch(5));
  scene.beat(0, kStart);
  scene.reads(held_by("b", 5), "r7", kStart + kHeld);
  is_lost(scene, LossReason::kExpired, kStart + kHeld);
}

TEST(ElectionToldTest, ATermThatIsResignedBeforeItWentOnIsReleasedWithItsReceipt) {
  OwnerElsewhere scene(Epoch(5));
  scene.beat(0, kStart);
  scene.resign(ResignOptions{true, 0s, {}, false}, kStart);
  scene.reads(held_by("b", 5), "r7", kStart + 1s);
  ASSERT_TRUE(scene.asks<WriteState>());
  ASSERT_TRUE(scene.asked<WriteState>().state.released);
  EXPECT_EQ(scene.asked<WriteState>().state.released->epoch, Epoch(5));
  scene.written("r8", kStart + 1s);
  ASSERT_TRUE(scene.saw<Resigned>());
  EXPECT_TRUE(scene.saw<Resigned>()->released);
}

}  // namespace election_told_test
}  // namespace muster
