#include "core/lock/lock_machine.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <utility>

namespace muster {
namespace {

constexpr MonoTime kNow{1000s};
constexpr MonoTime kFree = MonoTime::min();
using Numbers = std::set<std::uint32_t>;

LockMachine::Config mutex() {
  return {};
}
LockMachine::Config semaphore(std::uint32_t permits, std::uint32_t first = 1) {
  LockMachine::Config config;
  config.shape = {LockKind::kSemaphore, permits};
  config.first = first;
  return config;
}
LockMachine::Config reader(std::uint32_t permits) {
  LockMachine::Config config;
  config.shape = {LockKind::kReadWrite, permits};
  return config;
}
LockMachine::Config writer(std::uint32_t permits) {
  LockMachine::Config config = reader(permits);
  config.writes = true;
  return config;
}
LockMachine::Config once(LockMachine::Config config) {
  config.once = true;
  return config;
}

/// A machine, and a hand that plays the elections: it keeps what the last input asked for.
class LockScene {
 public:
  explicit LockScene(const LockMachine::Config& config) : machine(config) {
    take(machine.start(kNow));
  }

  void wins(std::uint32_t permit, std::uint64_t epoch = 1, MonoTime deadline = kNow + 10s,
            MonoTime at = kNow) {
    take(machine.won(permit, Epoch(epoch), deadline, at));
  }
  void renews(std::uint32_t permit, MonoTime deadline, MonoTime at = kNow) {
    take(machine.renewed(permit, deadline, at));
  }
  void loses(std::uint32_t permit, MonoTime at = kNow) {
    take(machine.lost(permit, LossReason::kExpired, at));
  }
  void misses(std::uint32_t permit, MonoTime held_until = kNow + 5s, MonoTime at = kNow) {
    take(machine.looked(permit, held_until, at));
  }
  void gave_back(std::uint32_t permit, bool released = true) {
    take(machine.given_back(permit, released, kNow));
  }
  void wakes(MonoTime at) { take(machine.wake(at)); }
  void ends() { take(machine.end(kNow)); }

  template <typename T>
  [[nodiscard]] std::optional<T> saw() const {
    for (const LockMachine::Action& action : actions_) {
      if (const T* found = std::get_if<T>(&action)) return *found;
    }
    return {};
  }
  template <typename T>
  [[nodiscard]] Numbers permits() const {
    Numbers numbers;
    for (const LockMachine::Action& action : actions_) {
      if (const T* found = std::get_if<T>(&action)) numbers.insert(found->permit);
    }
    return numbers;
  }
  [[nodiscard]] Numbers competes_for() const { return permits<LockMachine::Compete>(); }
  [[nodiscard]] Numbers observes() const { return permits<LockMachine::Observe>(); }
  [[nodiscard]] Numbers gives_back() const { return permits<LockMachine::GiveBack>(); }
  [[nodiscard]] bool nothing() const { return actions_.empty(); }

  LockMachine machine;

 private:
  void take(LockMachine::Actions actions) { actions_ = std::move(actions); }
  LockMachine::Actions actions_;
};

TEST(LockMachineTest, AMutexIsHeldWhileItsPermitIs) {
  LockScene scene(mutex());
  EXPECT_EQ(scene.competes_for(), Numbers{1});
  scene.wins(1, 7, kNow + 10s);
  ASSERT_TRUE(scene.saw<LockMachine::Held>());
  EXPECT_EQ(scene.saw<LockMachine::Held>()->token, Epoch(7));
  EXPECT_EQ(scene.saw<LockMachine::Held>()->until, kNow + 10s);
  scene.renews(1, kNow + 12s);
  EXPECT_EQ(scene.saw<LockMachine::Extended>()->until, kNow + 12s);
  scene.ends();
  EXPECT_EQ(scene.gives_back(), Numbers{1});
  EXPECT_FALSE(scene.saw<LockMachine::Finished>());
  scene.gave_back(1);
  EXPECT_TRUE(scene.saw<LockMachine::Finished>()->released);
}

TEST(LockMachineTest, AReleaseThatIsNotConfirmedIsReported) {
  LockScene scene(mutex());
  scene.wins(1);
  scene.ends();
  scene.gave_back(1, /*released=*/false);
  EXPECT_FALSE(scene.saw<LockMachine::Finished>()->released);
}

TEST(LockMachineTest, ALostLockIsNeverTakenAgain) {
  LockScene scene(mutex());
  scene.wins(1);
  scene.loses(1);
  EXPECT_TRUE(scene.saw<LockMachine::Lost>());
  EXPECT_EQ(scene.gives_back(), Numbers{1});
  scene.wins(1, 2);
  EXPECT_TRUE(scene.nothing());
  scene.gave_back(1, /*released=*/false);
  EXPECT_TRUE(scene.saw<LockMachine::Finished>());
  EXPECT_EQ(scene.machine.wake_at(), MonoTime::max());
}

TEST(LockMachineTest, ATakerOfASemaphoreCompetesForOnePermitAfterTheOther) {
  LockScene scene(semaphore(3, 2));
  EXPECT_EQ(scene.competes_for(), Numbers{2});
  scene.misses(2);
  EXPECT_EQ(scene.competes_for(), Numbers{3});
  // Only a look at the last of them counts.
  scene.misses(2);
  EXPECT_TRUE(scene.nothing());
  scene.misses(3);
  EXPECT_EQ(scene.competes_for(), Numbers{1});
  scene.misses(1);
  EXPECT_TRUE(scene.nothing());
  scene.wins(3, 4);
  EXPECT_EQ(scene.saw<LockMachine::Held>()->token, Epoch(4));
  EXPECT_EQ(scene.gives_back(), (Numbers{1, 2}));
}

TEST(LockMachineTest, APermitThatIsWonAfterTheLockIsHeldIsNotKept) {
  LockScene scene(semaphore(2));
  scene.misses(1);
  scene.wins(2);
  EXPECT_EQ(scene.gives_back(), Numbers{1});
  scene.wins(1);
  EXPECT_TRUE(scene.nothing());
  scene.gave_back(1);
  scene.loses(1);
  EXPECT_TRUE(scene.nothing());
}

TEST(LockMachineTest, APermitWhoseDeadlineHasPassedHoldsNothing) {
  LockScene scene(mutex());
  scene.wins(1, 1, kNow + 10s, kNow + 10s);
  EXPECT_FALSE(scene.saw<LockMachine::Held>());
}

TEST(LockMachineTest, AReaderLooksForAWriterFirst) {
  LockScene scene(reader(2));
  EXPECT_EQ(scene.observes(), Numbers{kWriters});
  EXPECT_TRUE(scene.competes_for().empty());
  scene.misses(kWriters, kFree);
  EXPECT_EQ(scene.competes_for(), Numbers{1});
  scene.wins(1, 3);
  EXPECT_EQ(scene.saw<LockMachine::Held>()->token, Epoch(3));
  EXPECT_EQ(scene.gives_back(), Numbers{kWriters});
}

TEST(LockMachineTest, AReaderDoesNotCompeteWhileAWriterHoldsOrWaits) {
  LockScene scene(reader(2));
  scene.misses(kWriters, kFree);
  scene.misses(1);
  EXPECT_EQ(scene.competes_for(), Numbers{2});
  scene.misses(kWriters, kNow + 5s);
  EXPECT_EQ(scene.observes(), (Numbers{1, 2}));
  EXPECT_EQ(scene.machine.wake_at(), kNow + 5s);
  scene.misses(1);
  EXPECT_TRUE(scene.nothing());
  scene.wakes(kNow + 5s);
  EXPECT_EQ(scene.competes_for(), Numbers{1});
  EXPECT_EQ(scene.machine.wake_at(), MonoTime::max());
}

TEST(LockMachineTest, AReaderKeepsWhatItWonWhenAWriterCame) {
  LockScene scene(reader(1));
  scene.misses(kWriters, kFree);
  scene.misses(kWriters, kNow + 5s);
  scene.wins(1);
  EXPECT_TRUE(scene.saw<LockMachine::Held>());
}

TEST(LockMachineTest, AWriterTakesTheWritersPermitAndThenAllOthers) {
  LockScene scene(writer(2));
  EXPECT_EQ(scene.competes_for(), Numbers{kWriters});
  scene.wins(kWriters, 9, kNow + 10s);
  EXPECT_EQ(scene.competes_for(), (Numbers{1, 2}));
  scene.wins(2, 100, kNow + 8s);
  EXPECT_FALSE(scene.saw<LockMachine::Held>());
  scene.misses(1);
  scene.wins(1, 200, kNow + 20s);
  ASSERT_TRUE(scene.saw<LockMachine::Held>());
  EXPECT_EQ(scene.saw<LockMachine::Held>()->token, Epoch(9));
  EXPECT_EQ(scene.saw<LockMachine::Held>()->until, kNow + 8s);
  // The earliest deadline counts.
  scene.renews(kWriters, kNow + 30s);
  EXPECT_EQ(scene.saw<LockMachine::Extended>()->until, kNow + 8s);
  scene.renews(2, kNow + 25s);
  EXPECT_EQ(scene.saw<LockMachine::Extended>()->until, kNow + 20s);
  scene.loses(1);
  EXPECT_TRUE(scene.saw<LockMachine::Lost>());
  EXPECT_EQ(scene.gives_back(), (Numbers{kWriters, 1, 2}));
}

TEST(LockMachineTest, AWriterHoldsNothingByAPermitWhoseDeadlineHasPassed) {
  LockScene scene(writer(2));
  scene.wins(kWriters);
  scene.wins(1, 1, kNow + 3s);
  scene.wins(2, 1, kNow + 13s, kNow + 3s);
  EXPECT_FALSE(scene.saw<LockMachine::Held>());
  scene.loses(1, kNow + 3s);
  EXPECT_TRUE(scene.nothing());
  scene.wins(1, 2, kNow + 13s, kNow + 4s);
  EXPECT_TRUE(scene.saw<LockMachine::Held>());
}

TEST(LockMachineTest, AWriterThatLosesTheWritersPermitGivesAllOthersBack) {
  LockScene scene(writer(3));
  scene.wins(kWriters);
  scene.wins(1);
  scene.misses(2);
  scene.loses(kWriters);
  EXPECT_EQ(scene.gives_back(), Numbers{1});
  EXPECT_EQ(scene.observes(), (Numbers{2, 3}));
  // One that was on its way goes back, too.
  scene.wins(2);
  EXPECT_EQ(scene.gives_back(), Numbers{2});
  scene.gave_back(1);
  EXPECT_EQ(scene.observes(), Numbers{1});
  scene.wins(kWriters, 2);
  EXPECT_EQ(scene.competes_for(), (Numbers{1, 3}));
  scene.gave_back(2);
  EXPECT_EQ(scene.competes_for(), Numbers{2});
}

TEST(LockMachineTest, AWriterThatWaitsObservesWhatItWillNeed) {
  LockScene scene(writer(2));
  scene.misses(kWriters);
  EXPECT_EQ(scene.observes(), (Numbers{1, 2}));
}

TEST(LockMachineTest, TryingOnceGivesUpWhereOthersHoldTheLock) {
  LockScene one(once(mutex()));
  one.misses(1);
  EXPECT_TRUE(one.saw<LockMachine::GaveUp>());

  LockScene two(once(semaphore(2)));
  two.misses(1);
  EXPECT_FALSE(two.saw<LockMachine::GaveUp>());
  two.misses(2);
  EXPECT_TRUE(two.saw<LockMachine::GaveUp>());

  LockScene reads(once(reader(2)));
  reads.misses(kWriters, kNow + 1s);
  EXPECT_TRUE(reads.saw<LockMachine::GaveUp>());

  LockScene writes(once(writer(2)));
  writes.wins(kWriters);
  writes.misses(2);
  EXPECT_TRUE(writes.saw<LockMachine::GaveUp>());
  EXPECT_EQ(writes.gives_back(), (Numbers{kWriters, 1, 2}));
}

TEST(LockMachineTest, TryingOnceTakesWhatIsFree) {
  LockScene scene(once(semaphore(2)));
  scene.misses(1);
  scene.wins(2);
  EXPECT_TRUE(scene.saw<LockMachine::Held>());
}

TEST(LockMachineTest, AWaitEndsInTimeAndLeavesNothingBehind) {
  LockMachine::Config config = mutex();
  config.give_up_at = kNow + 3s;
  LockScene scene(config);
  EXPECT_EQ(scene.machine.wake_at(), kNow + 3s);
  scene.wakes(kNow + 2s);
  EXPECT_TRUE(scene.nothing());
  scene.wakes(kNow + 3s);
  EXPECT_TRUE(scene.saw<LockMachine::GaveUp>());
  EXPECT_EQ(scene.gives_back(), Numbers{1});
  scene.gave_back(1);
  EXPECT_TRUE(scene.saw<LockMachine::Finished>());
}

TEST(LockMachineTest, AnAttemptThatIsEndedTwiceEndsOnce) {
  LockScene scene(writer(2));
  scene.ends();
  EXPECT_EQ(scene.gives_back(), Numbers{kWriters});
  scene.ends();
  EXPECT_TRUE(scene.nothing());
  scene.gave_back(kWriters, false);
  // It was never held, so nothing is left to expire.
  EXPECT_TRUE(scene.saw<LockMachine::Finished>()->released);
  scene.ends();
  EXPECT_TRUE(scene.nothing());
}

LockMachine::Config resumed(LockMachine::Config config) {
  config.resumes = true;
  return config;
}

TEST(LockMachineTest, ALockThatWasTakenElsewhereGoesOnWithItsOwnPermits) {
  LockScene one(resumed(semaphore(3, 2)));
  EXPECT_EQ(one.permits<LockMachine::Compete>(), Numbers{2});
  one.wins(2, 7);
  EXPECT_EQ(one.saw<LockMachine::Held>()->token, Epoch(7));
  EXPECT_EQ(one.machine.holds_by(), (std::vector<HeldPermit>{{2, Epoch(7)}}));

  // A writer that waits now came later.
  LockScene reads(resumed(reader(2)));
  EXPECT_EQ(reads.permits<LockMachine::Compete>(), Numbers{1});
  EXPECT_TRUE(reads.permits<LockMachine::Observe>().empty());

  LockScene writes(resumed(writer(2)));
  EXPECT_EQ(writes.permits<LockMachine::Compete>(), (Numbers{kWriters, 1, 2}));
  writes.wins(1, 4);
  writes.wins(kWriters, 9);
  EXPECT_FALSE(writes.saw<LockMachine::Held>());
  writes.wins(2, 3);
  EXPECT_EQ(writes.saw<LockMachine::Held>()->token, Epoch(9));
  EXPECT_EQ(writes.machine.holds_by().size(), 3U);
}

TEST(LockMachineTest, ALockThatWasTakenElsewhereIsNotTakenAnew) {
  LockScene scene(resumed(writer(2)));
  scene.wins(kWriters);
  scene.misses(1);
  EXPECT_FALSE(scene.saw<LockMachine::GaveUp>()) << "it may only be slow";
  scene.loses(1);
  EXPECT_TRUE(scene.saw<LockMachine::GaveUp>());
  EXPECT_EQ(scene.gives_back(), (Numbers{kWriters, 1, 2}));
  scene.wins(2);
  EXPECT_FALSE(scene.saw<LockMachine::Held>());
}

}  // namespace
}  // namespace muster
