#include "core/candidate/candidate_machine.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace muster {
namespace candidate_machine_test {

using namespace candidate;
using S = CandidateState;

constexpr MonoTime kStart{1000s};
constexpr Duration kHeld = 5040ms;  // Of a lease of 6 s.

/// One line for each action, so that a test can compare what was asked for, in its order.
struct Words {
  std::string operator()(const SetGate& a) const { return a.open ? "open" : "close"; }
  std::string operator()(const StartWork& a) const {
    return "start " + std::to_string(a.epoch.value());
  }
  std::string operator()(const StopWork& a) const {
    return "stop by +" + std::to_string(to_ms(a.by - kStart));
  }
  std::string operator()(const EndDeadline&) const { return "deadline is now"; }
  std::string operator()(const Resign& a) const {
    return std::string("resign") + (a.receipt ? "" : " without receipt") +
           (a.preferred ? " to " + a.preferred->value() : "") + (a.stop ? " for good" : "");
  }
  std::string operator()(const StateChange& a) const {
    return std::string("-> ") + to_string(a.to);
  }
  std::string operator()(const TermBegan& a) const {
    return "began " + std::to_string(a.epoch.value());
  }
  std::string operator()(const TermOver& a) const {
    return "over " + std::to_string(a.epoch.value()) + " " + to_string(a.reason);
  }
  std::string operator()(const Flapping& a) const {
    return "flapping " + std::to_string(a.short_terms);
  }
  std::string operator()(const WorkStuck& a) const { return a.running ? "stuck" : "unproven"; }
  std::string operator()(const Stopped&) const { return "stopped"; }
};

std::string said(const CandidateActions& actions) {
  std::string line;
  for (const Action& action : actions) {
    if (!line.empty()) line += ", ";
    line += std::visit(Words{}, action);
  }
  return line;
}

class CandidateMachineTest : public ::testing::Test {
 protected:
  static CandidateMachine fresh(CandidateConfig config = {}) {
    return CandidateMachine(config, Random(1));
  }
  /// A machine that leads with epoch 1 since kStart, its work being ready.
  static CandidateMachine leading(CandidateConfig config = {}) {
    CandidateMachine machine = fresh(config);
    machine.start(kStart);
    machine.see(LeaderView::kFree, kStart);
    machine.became_leader(Epoch(1), kStart + kHeld, kStart);
    machine.work_ready(kStart);
    EXPECT_EQ(machine.state(), S::kLeading);
    return machine;
  }
};

TEST_F(CandidateMachineTest, WhereNobodyEverLedThereIsNothingToWaitFor) {
  CandidateMachine machine = fresh();
  EXPECT_EQ(said(machine.start(kStart)), "-> campaigning");
  EXPECT_EQ(said(machine.see(LeaderView::kFree, kStart)), "");
  EXPECT_EQ(said(machine.became_leader(Epoch(1), kStart + kHeld, kStart)),
            "began 1, close, -> starting, start 1");
  EXPECT_EQ(said(machine.work_ready(kStart + 1s)), "-> leading");
}

TEST_F(CandidateMachineTest, WhatItRestsInFollowsFromWhatItMayDoAndSees) {
  struct Row {
    LeaderView view;
    bool eligible;
    bool paused;
    S state;
    bool open;
  };
  const Row rows[] = {
      {LeaderView::kUnknown, true, false, S::kCampaigning, true},
      {LeaderView::kFree, true, false, S::kCampaigning, true},
      {LeaderView::kLed, true, false, S::kStandby, false},
      {LeaderView::kUnreachable, true, false, S::kStandby, false},
      {LeaderView::kLapsed, true, false, S::kTakeoverWait, false},
      {LeaderView::kFree, false, false, S::kIneligible, false},
      {LeaderView::kLapsed, false, true, S::kIneligible, false},
      {LeaderView::kFree, true, true, S::kPaused, false},
      {LeaderView::kLapsed, true, true, S::kPaused, false},
  };
  for (const Row& row : rows) {
    CandidateConfig config;
    config.eligible = row.eligible;
    CandidateMachine machine = fresh(config);
    std::string all = said(machine.start(kStart));
    if (row.paused) all += said(machine.pause(kStart));
    all += said(machine.see(row.view, kStart));
    EXPECT_EQ(machine.state(), row.state) << to_string(row.view);
    EXPECT_EQ(all.find("close") == std::string::npos, row.open) << to_string(row.view);
  }
}

// C01: the takeover delay is honoured on every path on which a leader fell silent.
TEST_F(CandidateMachineTest, ALeaderThatFellSilentGetsTheTakeoverDelayOnEveryPath) {
  using Path = std::function<void(CandidateMachine&)>;
  const Path paths[] = {
      [](CandidateMachine& m) { m.see(LeaderView::kLed, kStart); },
      [](CandidateMachine&) {},
      [](CandidateMachine& m) { m.see(LeaderView::kUnreachable, kStart); },
      [](CandidateMachine& m) {
        m.pause(kStart);
        m.resume(kStart);
      },
      [](CandidateMachine& m) {
        m.set_eligible(false, kStart);
        m.set_eligible(true, kStart);
      },
  };
  for (const Path& path : paths) {
    CandidateMachine machine = fresh();
    machine.start(kStart);
    path(machine);
    machine.see(LeaderView::kLapsed, kStart);
    ASSERT_EQ(machine.state(), S::kTakeoverWait);
    EXPECT_GE(machine.wake_at(), kStart + 1s);
    EXPECT_LE(machine.wake_at(), kStart + 1250ms);
    EXPECT_EQ(said(machine.tick(kStart + 999ms)), "");
    EXPECT_EQ(said(machine.tick(machine.wake_at())), "-> campaigning, open");
  }
}

TEST_F(CandidateMachineTest, TheTakeoverIsCalledOffWhenTheLeaderReturns) {
  CandidateMachine machine = fresh();
  machine.start(kStart);
  machine.see(LeaderView::kLapsed, kStart);
  EXPECT_EQ(said(machine.see(LeaderView::kLed, kStart + 500ms)), "-> standby");
  EXPECT_EQ(said(machine.tick(kStart + 2s)), "");
  machine.see(LeaderView::kLapsed, kStart + 10s);
  EXPECT_GE(machine.wake_at(), kStart + 11s) << "the delay begins anew";
}

TEST_F(CandidateMachineTest, AnExplicitReleaseEndsTheTakeoverWait) {
  CandidateMachine machine = fresh();
  machine.start(kStart);
  machine.see(LeaderView::kLapsed, kStart);
  EXPECT_EQ(said(machine.see(LeaderView::kFree, kStart + 100ms)), "-> campaigning, open");
}

// C09, P06: first the work, while the lease is still being renewed; then the release; then the
// event.
TEST_F(CandidateMachineTest, AGracefulStopStopsTheWorkThenReleasesThenReports) {
  CandidateMachine machine = leading();
  EXPECT_EQ(said(machine.stop(kStart + 1s)), "-> stopping, stop by +2200");
  EXPECT_EQ(said(machine.renewed(kStart + 7s, kStart + 2s)), "") << "it goes on renewing";
  EXPECT_EQ(said(machine.work_stopped(true, kStart + 2s)), "resign for good");
  EXPECT_EQ(said(machine.lost(LossReason::kReleased, kStart + 2s)), "");
  EXPECT_EQ(said(machine.resigned(kStart + 2100ms)), "over 1 stopped, stopped, -> ineligible");
}

// P19: on every path out of a term its end is reported, exactly once.
TEST_F(CandidateMachineTest, EveryPathOutOfATermReportsItsEndExactlyOnce) {
  using Path = std::function<CandidateActions(CandidateMachine&, MonoTime)>;
  const std::pair<Path, EndReason> paths[] = {
      {[](auto& m, auto t) { return m.stop(t); }, EndReason::kStopped},
      {[](auto& m, auto t) { return m.step_down({}, t); }, EndReason::kSteppedDown},
      {[](auto& m, auto t) { return m.pause(t); }, EndReason::kPaused},
      {[](auto& m, auto t) { return m.set_eligible(false, t); }, EndReason::kIneligible},
      {[](auto& m, auto t) { return m.work_failed("x", t); }, EndReason::kWorkFailed},
      {[](auto& m, auto t) { return m.lost(LossReason::kExpired, t); }, EndReason::kExpired},
      {[](auto& m, auto t) { return m.lost(LossReason::kReplaced, t); }, EndReason::kReplaced},
      {[](auto& m, auto t) { return m.lost(LossReason::kStateLost, t); }, EndReason::kStateLost},
      {[](auto& m, auto) { return m.tick(kStart + kHeld); }, EndReason::kExpired},
  };
  for (const auto& [path, reason] : paths) {
    for (const bool store_answers : {true, false}) {
      for (const bool lost_on_the_way : {false, true}) {
        CandidateMachine machine = leading();
        CandidateActions all = path(machine, kStart + 1s);
        const auto add = [&](const CandidateActions& more) {
          all.insert(all.end(), more.begin(), more.end());
        };
        if (lost_on_the_way) add(machine.lost(LossReason::kExpired, kStart + kHeld));
        add(machine.work_stopped(true, kStart + kHeld));
        add(machine.lost(LossReason::kReleased, kStart + kHeld));
        if (store_answers) add(machine.resigned(kStart + kHeld));
        add(machine.tick(kStart + 60s));
        add(machine.resigned(kStart + 60s));
        int overs = 0;
        for (const Action& action : all) {
          const auto* over = std::get_if<TermOver>(&action);
          if (!over) continue;
          ++overs;
          if (!lost_on_the_way) {
            EXPECT_EQ(over->reason, reason);
          }
        }
        EXPECT_EQ(overs, 1) << to_string(reason) << ": " << said(all);
      }
    }
  }
}

// P05: work is asked to stop early enough to be gone a margin before the deadline.
TEST_F(CandidateMachineTest, WithoutRenewalsTheWorkIsStoppedInTime) {
  CandidateMachine machine = leading();
  const MonoTime deadline = kStart + kHeld;
  EXPECT_EQ(machine.wake_at(), deadline - 1200ms - 600ms);
  EXPECT_EQ(said(machine.tick(machine.wake_at())), "-> stopping, stop by +4440");
  EXPECT_EQ(said(machine.work_stopped(true, deadline - 700ms)), "resign");
  EXPECT_EQ(said(machine.resigned(deadline - 600ms)), "over 1 expired, -> backoff");
}

// Work watches the same deadline, and may stop before a tick here, or beside a late renewal.
TEST_F(CandidateMachineTest, WorkThatEndsWithItsLeaseHasNotFailed) {
  for (const bool late_renewal : {false, true}) {
    CandidateMachine machine = leading();
    const MonoTime due = machine.wake_at();
    std::string all = late_renewal ? said(machine.renewed(due + kHeld, due)) : "";
    all += said(machine.work_failed("the lease was not renewed in time", due));
    EXPECT_EQ(all, "-> stopping, stop by +4440");
    machine.work_stopped(true, due);
    EXPECT_EQ(said(machine.resigned(due)), "over 1 expired, -> backoff");
  }
}

TEST_F(CandidateMachineTest, ALossLeavesNoGrace) {
  CandidateMachine machine = leading();
  EXPECT_EQ(said(machine.lost(LossReason::kReplaced, kStart + 1s)),
            "deadline is now, -> stopping, stop by +1000, over 1 replaced");
}

TEST_F(CandidateMachineTest, ALossDuringAGracefulStopHurriesIt) {
  CandidateMachine machine = leading();
  machine.stop(kStart + 1s);
  EXPECT_EQ(said(machine.lost(LossReason::kReplaced, kStart + 2s)),
            "deadline is now, over 1 replaced");
}

// C08: start failure: stop, resign, back off, so that someone else leads.
TEST_F(CandidateMachineTest, WorkThatDoesNotStartIsStoppedAndTheTermGivenUp) {
  CandidateMachine machine = fresh();
  machine.start(kStart);
  machine.became_leader(Epoch(1), kStart + kHeld, kStart);
  EXPECT_EQ(said(machine.work_failed("no such file", kStart)), "-> stopping, stop by +1200");
  EXPECT_EQ(said(machine.work_stopped(true, kStart)), "resign");
  EXPECT_EQ(said(machine.resigned(kStart)), "over 1 start-failed, -> backoff");
  EXPECT_GE(machine.wake_at(), kStart + 1500ms);
  EXPECT_EQ(said(machine.see(LeaderView::kFree, kStart + 1s)), "") << "it does not campaign";
  EXPECT_EQ(said(machine.see(LeaderView::kLed, kStart + 2s)), "");
  EXPECT_EQ(said(machine.tick(machine.wake_at())), "-> standby");
}

// C16: work that failed for good costs the term.
TEST_F(CandidateMachineTest, WorkThatFailsForGoodIsStoppedAndTheTermGivenUp) {
  CandidateMachine machine = leading();
  EXPECT_EQ(said(machine.work_failed("4 restarts in 5 s", kStart + 1s)),
            "-> stopping, stop by +2200");
}

TEST_F(CandidateMachineTest, BackoffGrowsWithShortTermsIsBoundedAndIsForgivenAfterAStableOne) {
  CandidateConfig config;
  CandidateMachine machine = fresh(config);
  machine.start(kStart);
  MonoTime now = kStart;
  std::string flaps;
  for (std::uint64_t epoch = 1; epoch <= 8; ++epoch) {
    machine.became_leader(Epoch(epoch), now + kHeld, now);
    machine.work_failed("x", now);
    machine.work_stopped(true, now);
    flaps += said(machine.resigned(now)) + "; ";
    Duration full = config.backoff_min;
    for (std::uint64_t i = 1; i < epoch; ++i) full = std::min(2 * full, config.backoff_max);
    EXPECT_GE(machine.wake_at() - now, full / 2) << epoch;
    EXPECT_LE(machine.wake_at() - now, full) << epoch;
    now = machine.wake_at();
    machine.tick(now);
    ASSERT_EQ(machine.state(), S::kCampaigning);
  }
  EXPECT_EQ(machine.short_terms(), 8u);
  EXPECT_EQ(flaps.find("flapping 2"), std::string::npos);
  EXPECT_NE(flaps.find("flapping 3"), std::string::npos);
  EXPECT_NE(flaps.find("flapping 8"), std::string::npos);
  machine.became_leader(Epoch(9), now + kHeld, now);
  machine.work_ready(now);
  for (int i = 0; i < 61; ++i, now += 1s) machine.renewed(now + kHeld, now);
  machine.work_failed("x", now);
  machine.work_stopped(true, now);
  machine.resigned(now);
  EXPECT_LE(machine.wake_at() - now, config.backoff_min);
  EXPECT_EQ(machine.short_terms(), 8u);
}

TEST_F(CandidateMachineTest, AfterATransferItStandsAsideWithoutBeingBlamed) {
  CandidateMachine machine = leading();
  machine.step_down(WorkerId("c"), kStart + 1s);
  EXPECT_EQ(said(machine.work_stopped(true, kStart + 1s)), "resign to c");
  EXPECT_EQ(said(machine.resigned(kStart + 1s)), "over 1 stepped-down, -> backoff");
  EXPECT_EQ(machine.wake_at(), kStart + 7s);
  EXPECT_EQ(machine.short_terms(), 0u);
}

TEST_F(CandidateMachineTest, APausedNodeDoesNotCampaignUntilItIsResumed) {
  CandidateMachine machine = leading();
  machine.pause(kStart + 1s);
  machine.work_stopped(true, kStart + 1s);
  EXPECT_EQ(said(machine.resigned(kStart + 1s)), "over 1 paused, -> paused");
  EXPECT_EQ(said(machine.see(LeaderView::kFree, kStart + 1h)), "");
  EXPECT_EQ(said(machine.resume(kStart + 1h)), "-> campaigning, open");
}

// R63: it was held off for a lease.
TEST_F(CandidateMachineTest, ANodeThatIsResumedCampaignsAtOnce) {
  CandidateMachine machine = leading();
  machine.pause(kStart + 1s);
  machine.resume(kStart + 1s);
  machine.work_stopped(true, kStart + 1s);
  EXPECT_EQ(said(machine.resigned(kStart + 1s)), "over 1 paused, -> campaigning, open");
}

TEST_F(CandidateMachineTest, AnAcquisitionThatLandsAfterAPauseIsGivenBack) {
  CandidateMachine machine = fresh();
  machine.start(kStart);
  EXPECT_EQ(said(machine.pause(kStart)), "-> paused, close");
  EXPECT_EQ(said(machine.became_leader(Epoch(1), kStart + kHeld, kStart)),
            "began 1, -> stopping, resign");
  EXPECT_EQ(said(machine.resigned(kStart)), "over 1 ineligible, -> paused");
}

TEST_F(CandidateMachineTest, AnAcquisitionThatTookTooLongStartsNothing) {
  CandidateMachine machine = fresh();
  machine.start(kStart);
  EXPECT_EQ(said(machine.became_leader(Epoch(1), kStart + 1s, kStart)),
            "began 1, -> stopping, close, resign");
}

// Rule G3: no receipt, no release, no new term.
TEST_F(CandidateMachineTest, WorkThatCannotBeEndedKeepsTheLeaseAndBarsTheNode) {
  CandidateMachine barred = leading();
  barred.step_down({}, kStart + 1s);
  EXPECT_EQ(said(barred.work_stopped(false, kStart + 2s)), "unproven, resign without receipt");
  EXPECT_EQ(said(barred.resigned(kStart + 2s)), "over 1 stepped-down, -> ineligible");
  EXPECT_EQ(said(barred.see(LeaderView::kFree, kStart + 1h)), "");
  EXPECT_EQ(barred.state(), S::kIneligible);
}

TEST_F(CandidateMachineTest, WorkThatIsLateBarsTheNodeUntilItIsGoneAndThenGivesItsReceipt) {
  CandidateMachine machine = leading();
  machine.step_down({}, kStart + 1s);
  EXPECT_EQ(machine.wake_at(), kStart + 2200ms + 600ms);
  EXPECT_EQ(said(machine.tick(kStart + 2800ms)), "stuck, resign without receipt");
  EXPECT_EQ(said(machine.resigned(kStart + 2900ms)), "over 1 stepped-down");
  EXPECT_EQ(said(machine.see(LeaderView::kFree, kStart + 60s)), "");
  EXPECT_EQ(machine.state(), S::kStopping);
  EXPECT_EQ(said(machine.work_stopped(true, kStart + 61s)), "resign");
  EXPECT_EQ(said(machine.resigned(kStart + 61s)), "-> campaigning, open");
}

TEST_F(CandidateMachineTest, AStopEndsAlsoWhenNeitherWorkNorStoreAnswer) {
  CandidateMachine machine = leading();
  machine.stop(kStart + 1s);
  std::string all;
  for (int i = 0; i < 5; ++i) all += said(machine.tick(machine.wake_at())) + "; ";
  EXPECT_NE(all.find("stopped, -> ineligible"), std::string::npos) << all;
  EXPECT_EQ(machine.wake_at(), MonoTime::max());
}

TEST_F(CandidateMachineTest, AStopBeforeTheStartIsAtOnce) {
  CandidateMachine machine = fresh();
  EXPECT_EQ(said(machine.stop(kStart)), "stopped");
  EXPECT_EQ(said(machine.stop(kStart)), "");
}

TEST_F(CandidateMachineTest, AStopWhileAnAcquisitionIsUnderWayAsksTheElectionToEndIt) {
  CandidateMachine machine = fresh();
  machine.start(kStart);
  EXPECT_EQ(said(machine.stop(kStart)), "-> stopping, close, resign for good");
  EXPECT_EQ(said(machine.resigned(kStart)), "stopped, -> ineligible");
}

TEST_F(CandidateMachineTest, AStopDuringAnotherReleaseFollowsIt) {
  CandidateMachine machine = leading();
  machine.step_down({}, kStart + 1s);
  machine.work_stopped(true, kStart + 1s);
  EXPECT_EQ(said(machine.stop(kStart + 1s)), "");
  EXPECT_EQ(said(machine.resigned(kStart + 2s)), "over 1 stepped-down, resign for good");
  EXPECT_EQ(said(machine.resigned(kStart + 2s)), "stopped, -> ineligible");
}

}  // namespace candidate_machine_test
}  // namespace muster
