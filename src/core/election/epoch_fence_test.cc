#include "core/election/epoch_fence.h"

#include <limits>

#include <gtest/gtest.h>

namespace muster {
namespace epoch_fence_test {

constexpr MonoTime kStart{100s};
constexpr WallTime kWall{std::chrono::milliseconds(1'700'000'000'000)};

/// A fence and its two clocks, which run alike.
class EpochFenceTest : public ::testing::Test {
 protected:
  /// A task of `epoch`, created `age` ago, arrives now.
  EpochVerdict arrive(std::uint64_t epoch, std::chrono::milliseconds age = 0ms) {
    return fence_.check({Epoch(epoch), wall_ - age}, now_, wall_);
  }
  void learn(std::uint64_t epoch) { fence_.learn(Epoch(epoch), now_); }
  void pass(std::chrono::milliseconds time) {
    now_ += time;
    wall_ += time;
  }

  EpochFence fence_;
  MonoTime now_ = kStart;
  WallTime wall_ = kWall;
};

// Scenario: Task rejected due to stale epoch
TEST_F(EpochFenceTest, TaskRejectedDueToStaleEpoch) {
  learn(6);
  EXPECT_EQ(arrive(5), EpochVerdict::kRejected);
  EXPECT_EQ(fence_.drift_events(), 1u);
  EXPECT_EQ(fence_.last_known(), Epoch(6));
}

// Scenario: Task accepted with current epoch
TEST_F(EpochFenceTest, TaskAcceptedWithCurrentEpoch) {
  learn(6);
  EXPECT_EQ(arrive(7), EpochVerdict::kAccepted);
  EXPECT_EQ(fence_.last_known(), Epoch(7));
  EXPECT_EQ(arrive(7, 1h), EpochVerdict::kAccepted);
  EXPECT_EQ(fence_.drift_events(), 0u);
}

// Scenario: Epoch fencing disabled
TEST_F(EpochFenceTest, EpochFencingDisabled) {
  fence_ = EpochFence({.enabled = false});
  learn(6);
  EXPECT_EQ(arrive(9), EpochVerdict::kAccepted);
  EXPECT_EQ(arrive(1), EpochVerdict::kAccepted);
  EXPECT_EQ(arrive(0), EpochVerdict::kAccepted);
  EXPECT_EQ(fence_.last_known(), Epoch(0));
  EXPECT_EQ(fence_.drift_events(), 0u);
  EXPECT_EQ(fence_.accepted_late(), 0u);
}

// Scenario: Grace period during transition
TEST_F(EpochFenceTest, GracePeriodDuringTransition) {
  learn(5);
  pass(60s);
  learn(6);
  pass(4999ms);
  EXPECT_EQ(arrive(5, 4999ms), EpochVerdict::kAcceptedLate);
  EXPECT_EQ(fence_.accepted_late(), 1u);
  EXPECT_EQ(fence_.drift_events(), 0u);
  // A late task does not bring the old epoch back.
  EXPECT_EQ(fence_.last_known(), Epoch(6));
}

// Scenario: Stale task outside grace period
TEST_F(EpochFenceTest, StaleTaskOutsideGracePeriod) {
  learn(5);
  learn(6);
  EXPECT_EQ(arrive(4), EpochVerdict::kRejected);
  EXPECT_EQ(arrive(1), EpochVerdict::kRejected);
  EXPECT_EQ(arrive(0), EpochVerdict::kRejected);
  EXPECT_EQ(fence_.drift_events(), 3u);
  EXPECT_EQ(fence_.accepted_late(), 0u);
}

TEST_F(EpochFenceTest, GraceEndsAfterTheChangeHoweverFreshTheTask) {
  learn(5);
  learn(6);
  pass(5s);
  EXPECT_EQ(arrive(5), EpochVerdict::kRejected);
  EXPECT_EQ(fence_.drift_events(), 1u);
}

TEST_F(EpochFenceTest, GraceIsNotForTasksCreatedBeforeIt) {
  learn(5);
  learn(6);
  EXPECT_EQ(arrive(5, 5s), EpochVerdict::kRejected);
  EXPECT_EQ(arrive(5, 4999ms), EpochVerdict::kAcceptedLate);
}

TEST_F(EpochFenceTest, TaskFromTheFutureIsGracedOnlyWithinTheGrace) {
  learn(5);
  learn(6);
  EXPECT_EQ(arrive(5, -5s), EpochVerdict::kAcceptedLate);
  EXPECT_EQ(arrive(5, -5001ms), EpochVerdict::kRejected);
}

// S10: the moment of the change is this worker's own; no clock of another can stretch it.
TEST_F(EpochFenceTest, SkewedWallClockDoesNotStretchTheGrace) {
  learn(5);
  learn(6);
  now_ += 5s;  // The wall clock was set back meanwhile and shows no time passing.
  EXPECT_EQ(arrive(5), EpochVerdict::kRejected);
}

TEST_F(EpochFenceTest, AnyCreationTimeIsSafeToCompare) {
  learn(5);
  learn(6);
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t ms : {Limits::min(), Limits::max(), std::int64_t{0}}) {
    EXPECT_EQ(fence_.check({Epoch(5), wall_from_ms(ms)}, now_, wall_), EpochVerdict::kRejected);
  }
}

TEST_F(EpochFenceTest, TaskThatRaisesTheEpochOpensTheGraceToo) {
  learn(5);
  pass(60s);
  EXPECT_EQ(arrive(6), EpochVerdict::kAccepted);
  EXPECT_EQ(arrive(5), EpochVerdict::kAcceptedLate);
  pass(5s);
  EXPECT_EQ(arrive(5), EpochVerdict::kRejected);
}

TEST_F(EpochFenceTest, RepeatedNewsOfAnEpochDoNotProlongTheGrace) {
  learn(5);
  learn(6);
  pass(3s);
  learn(6);
  learn(5);
  EXPECT_EQ(arrive(6), EpochVerdict::kAccepted);
  pass(2s);
  EXPECT_EQ(fence_.last_known(), Epoch(6));
  EXPECT_EQ(arrive(5), EpochVerdict::kRejected);
}

// A worker that has just started saw no change: the leader of epoch 5 may be long gone.
TEST_F(EpochFenceTest, FirstEpochLearntOpensNoGrace) {
  EXPECT_EQ(arrive(6), EpochVerdict::kAccepted);
  EXPECT_EQ(arrive(5), EpochVerdict::kRejected);
}

TEST_F(EpochFenceTest, ZeroGraceIsNone) {
  fence_ = EpochFence({.grace = 0s});
  learn(5);
  learn(6);
  EXPECT_EQ(arrive(5), EpochVerdict::kRejected);
}

TEST_F(EpochFenceTest, HighestEpochDoesNotWrapAround) {
  learn(5);
  learn(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(arrive(0), EpochVerdict::kRejected);
  EXPECT_EQ(arrive(std::numeric_limits<std::uint64_t>::max()), EpochVerdict::kAccepted);
  EXPECT_EQ(arrive(std::numeric_limits<std::uint64_t>::max() - 1), EpochVerdict::kAcceptedLate);
}

TEST(EpochGuardTest, AdmitsOnlyWhatIsNotBelowTheHighestSeen) {
  EpochGuard guard;
  EXPECT_TRUE(guard.admit(Epoch(5)));
  EXPECT_TRUE(guard.admit(Epoch(5)));
  EXPECT_TRUE(guard.admit(Epoch(7)));
  EXPECT_EQ(guard.highest(), Epoch(7));
  EXPECT_FALSE(guard.admit(Epoch(6)));
  EXPECT_FALSE(guard.admit(Epoch(5)));
  EXPECT_EQ(guard.highest(), Epoch(7));
  EXPECT_EQ(guard.rejected(), 2u);
}

TEST(EpochGuardTest, RemembersWhatItsResourceKept) {
  EpochGuard guard(Epoch(7));
  EXPECT_FALSE(guard.admit(Epoch(6)));
  EXPECT_TRUE(guard.admit(Epoch(7)));
}

}  // namespace epoch_fence_test
}  // namespace muster
