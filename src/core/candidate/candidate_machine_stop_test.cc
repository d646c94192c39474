// How long the work may take to stop.

#include <gtest/gtest.h>

#include "core/candidate/candidate_machine.h"

namespace muster {
namespace candidate_machine_stop_test {

using namespace candidate;

constexpr MonoTime kStart{1000s};
constexpr Duration kHeld = 5040ms;  // Of a lease of 6 s.

class OrderlyStopTest : public ::testing::Test {
 protected:
  OrderlyStopTest() : machine(config(), Random(1)) {
    machine.start(kStart);
    machine.became_leader(Epoch(1), kStart + kHeld, kStart);
    machine.work_ready(kStart);
  }
  static CandidateConfig config() {
    CandidateConfig config;
    config.orderly_stop = 20s;
    return config;
  }
  /// By when the work is told to be gone.
  static MonoTime told(const CandidateActions& actions) {
    for (const Action& action : actions) {
      if (const auto* stop = std::get_if<StopWork>(&action)) return stop->by;
    }
    return {};
  }

  CandidateMachine machine;
};

// C09: the time for a clean stop is the work's, not the lease's, as long as renewals come.
TEST_F(OrderlyStopTest, MayTakeLongerThanTheLease) {
  EXPECT_EQ(told(machine.pause(kStart + 1s)), kStart + 21s);
  for (MonoTime now = kStart + 2s; now < kStart + 21s; now += 1s) {
    ASSERT_TRUE(machine.renewed(now + kHeld, now).empty());
  }
  const CandidateActions after = machine.work_stopped(true, kStart + 21s);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_TRUE(std::get<Resign>(after[0]).receipt);
}

TEST_F(OrderlyStopTest, IsTheSameOnEveryPathOutOfATermThatIsGivenUp) {
  const auto fresh = machine;
  const auto by = [&](auto&& end) {
    machine = fresh;
    return told(end()) - kStart;
  };
  EXPECT_EQ(by([&] { return machine.stop(kStart); }), 20s);
  EXPECT_EQ(by([&] { return machine.pause(kStart); }), 20s);
  EXPECT_EQ(by([&] { return machine.step_down(WorkerId("b"), kStart); }), 20s);
  EXPECT_EQ(by([&] { return machine.set_eligible(false, kStart); }), 20s);
  EXPECT_EQ(by([&] { return machine.work_failed("why", kStart); }), 20s);
}

// P05: without renewals it must fit into what is left of the lease.
TEST_F(OrderlyStopTest, DoesNotOutliveALeaseThatIsNotRenewed) {
  const auto fresh = machine;
  EXPECT_EQ(told(machine.stop(kStart + 4s)), kStart + kHeld - config().kill_margin);
  machine = fresh;
  machine.stop(kStart + 1s);
  const CandidateActions lost = machine.lost(LossReason::kExpired, kStart + kHeld);
  ASSERT_FALSE(lost.empty());
  EXPECT_TRUE(std::holds_alternative<EndDeadline>(lost[0]));
  EXPECT_EQ(machine.wake_at(), kStart + kHeld + config().kill_margin) << "later it is stuck";
}

}  // namespace candidate_machine_stop_test
}  // namespace muster
