#include "candidate/candidate.h"

#include <gtest/gtest.h>

#include <set>

#include "candidate/candidate_test_world.h"

namespace muster {
namespace candidate_test {

using S = CandidateState;
using World = CandidateWorld;

TEST(CandidateTest, ASingleNodeNeedsNoElectionDelay) {
  World world;
  auto& a = world.add("a");
  EXPECT_LT(world.run_until([&] { return a.state() == S::kLeading; }, 10s), 1s);
  EXPECT_TRUE(a.work->runs());
}

// C04: no preemption.
TEST(CandidateTest, ASmallerNameDoesNotDisplaceALiveLeader) {
  World world;
  auto& b = world.add("b");
  world.run(10s);
  ASSERT_TRUE(b.leads());
  auto& a = world.add("a");
  world.run(5min);
  EXPECT_TRUE(b.leads());
  EXPECT_EQ(a.state(), S::kStandby);
  EXPECT_EQ(a.candidate->current_leader(), WorkerId("b"));
  EXPECT_EQ(world.stored().epoch, Epoch(1));
}

// C05: one winner on simultaneous start, in 1,000 random starts. C18: losing is no crash.
TEST(CandidateTest, AThousandSimultaneousStartsHaveOneWinnerEach) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    World world(seed);
    world.options.lease = world.world.random().between(2s, 10s);
    const std::uint64_t count = 2 + world.world.random().below(5);
    for (std::uint64_t i = 0; i < count; ++i) world.add("n" + std::to_string(i));
    world.run(5s);
    std::size_t leading = 0;
    std::size_t standing_by = 0;
    for (auto& node : world.nodes) {
      if (node->state() == S::kLeading) ++leading;
      if (node->state() == S::kStandby) ++standing_by;
      EXPECT_EQ(node->candidate->metrics().short_terms, 0u);
    }
    ASSERT_EQ(leading, 1u) << "seed " << seed;
    ASSERT_EQ(standing_by, count - 1) << "seed " << seed;
    ASSERT_EQ(world.journal.intervals().size(), 1u) << "seed " << seed;
  }
}

// C15: new leader, its work running, within 10 s of kill -9 with default settings. C07: the killed
// node's work ended first.
TEST(CandidateTest, AfterAKillTheNewLeadersWorkRunsWithinTenSeconds) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    World world(seed);
    auto& a = world.add("a");
    world.add("b");
    world.add("c");
    world.run(20s + world.world.random().between(0s, 5s));
    ASSERT_TRUE(a.leads());
    world.kill(a);
    EXPECT_LT(world.run_until([&] { return world.leader() != nullptr; }, 60s), 10s)
        << "seed " << seed;
    ASSERT_EQ(world.journal.intervals().size(), 2u);
    EXPECT_LE(world.journal.intervals()[0].to, world.journal.intervals()[1].from);
  }
}

// C15, P07: within 5 s of a graceful stop.
TEST(CandidateTest, AfterAGracefulStopTheNewLeadersWorkRunsWithinFiveSeconds) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    World world(seed);
    world.habits.stop_max = 1s;
    auto& a = world.add("a");
    world.add("b");
    world.add("c");
    world.run(20s);
    ASSERT_TRUE(a.leads());
    bool stopped = false;
    a.tell([&](Candidate& candidate) { candidate.stop([&] { stopped = true; }); });
    EXPECT_LT(world.run_until([&] { return world.leader() && world.leader() != &a; }, 60s), 5s)
        << "seed " << seed;
    EXPECT_TRUE(stopped);
    EXPECT_TRUE(world.body(world.keys.worker(WorkerId("a"))).empty());
  }
}

// P07: a graceful restart of the only node leads again at once.
TEST(CandidateTest, AGracefulRestartLeadsAgainAtOnce) {
  World world;
  auto& a = world.add("a");
  world.run(10s);
  bool stopped = false;
  a.tell([&](Candidate& candidate) { candidate.stop([&] { stopped = true; }); });
  world.run_until([&] { return stopped; }, 10s);
  world.kill(a);
  world.begin(a, "a");
  EXPECT_LT(world.run_until([&] { return a.state() == S::kLeading; }, 60s), 1s);
  EXPECT_EQ(a.candidate->epoch(), Epoch(2));
}

// C09, P06: the lease is renewed while the work stops, released when it is gone, then reported.
TEST(CandidateTest, TheLeaseIsRenewedWhileTheWorkStopsAndReleasedWhenItIsGone) {
  World world;
  world.options.stop_grace = 2s;
  world.options.lease = 10s;
  world.habits.ignores_stop = 1;
  auto& a = world.add("a");
  world.run(10s);
  std::vector<std::string> order;
  world.shared->objects->subscribe([&](const MemoryObjects::Change& change) {
    if (change.key != world.keys.state) return;
    order.push_back((world.stored().leader ? "renewed, work " : "released, work ") +
                    std::string(a.work->runs() ? "runs" : "is gone") + ", told " +
                    std::to_string(a.saw<telemetry::LostLeadership>().size()));
  });
  world.run_until([&] { return !order.empty(); }, 10s);
  order.clear();
  world.run(500ms);
  a.tell([](Candidate& candidate) { candidate.stop([] {}); });
  world.run(5s);
  EXPECT_EQ(order, (std::vector<std::string>{"renewed, work runs, told 0",
                                             "released, work is gone, told 0"}));
  ASSERT_EQ(a.saw<telemetry::LostLeadership>().size(), 1u);
  EXPECT_EQ(a.saw<telemetry::LostLeadership>()[0].reason, EndReason::kStopped);
}

// C09: work that needs longer than the lease to stop is renewed for, and not killed early.
TEST(CandidateTest, AnOrderlyStopMayTakeLongerThanTheLease) {
  World world;
  world.habits.stop_time = 15s;
  world.habits.ignores_stop = 1;
  auto& a = world.add("a");
  world.add("b");
  world.run(10s);
  ASSERT_TRUE(a.leads());
  a.tell([](Candidate& candidate) { candidate.stop([] {}); });
  world.run(15s - 10ms);
  EXPECT_TRUE(a.work->runs());
  EXPECT_LT(world.run_until([&] { return world.leader() && world.leader() != &a; }, 60s), 5s);
  EXPECT_TRUE(a.saw<telemetry::Trouble>().empty());
}

// P05: when renewals fail meanwhile, the lease has the last word.
TEST(CandidateTest, AnOrderlyStopThatIsCutOffEndsWithTheLease) {
  World world;
  world.habits.stop_time = 15s;
  world.habits.ignores_stop = 1;
  auto& a = world.add("a");
  world.run(10s);
  ASSERT_TRUE(a.leads());
  a.tell([](Candidate& candidate) { candidate.stop([] {}); });
  a.store->set_cut_off(true);
  EXPECT_LT(world.run_until([&] { return !a.work->runs(); }, 60s), 6s);
}

// C02: after a healed partition the loser has stopped its work and becomes standby in place.
TEST(CandidateTest, AfterAHealedPartitionTheLoserIsStandbyInPlace) {
  World world;
  auto& a = world.add("a");
  auto& b = world.add("b");
  world.run(10s);
  ASSERT_TRUE(a.leads());
  a.store->set_cut_off(true);
  world.run(4s);
  EXPECT_FALSE(a.work->runs()) << "stopped before its lease ended";
  world.run(26s);
  EXPECT_TRUE(b.leads());
  EXPECT_EQ(a.candidate->current_leader(), std::nullopt);
  a.store->set_cut_off(false);
  world.run(2min);
  EXPECT_EQ(a.state(), S::kStandby);
  EXPECT_EQ(a.candidate->current_leader(), WorkerId("b"));
  EXPECT_TRUE(b.leads());
  EXPECT_EQ(a.work->starts, 1);
  ASSERT_EQ(a.saw<telemetry::LostLeadership>().size(), 1u);
  EXPECT_EQ(a.saw<telemetry::LostLeadership>()[0].reason, EndReason::kExpired);
}

// C03: a leader's claim is compared with its deadline at every use. P05: a frozen candidate's work
// does not outlive its lease.
TEST(CandidateTest, AFrozenLeaderLeadsNoMoreAndItsWorkIsGone) {
  World world;
  auto& a = world.add("a");
  auto& b = world.add("b");
  world.run(10s);
  ASSERT_TRUE(a.leads());
  a.process->pause(world.world.now() + 60s);
  world.run(5100ms);
  EXPECT_FALSE(a.leads()) << "nobody told it, and it knows";
  EXPECT_FALSE(a.work->runs());
  world.run(10s);
  EXPECT_TRUE(b.leads());
  world.run(2min);
  EXPECT_EQ(a.state(), S::kStandby);
}

// P20: replies that come ever later do not lengthen the lease.
TEST(CandidateTest, SlowRepliesDoNotLengthenTheLease) {
  World world;
  auto& a = world.add("a");
  world.add("b");
  world.run(10s);
  ASSERT_TRUE(a.leads());
  world.shared->faults.slow = 1;
  world.shared->faults.slow_max = 3s;
  world.run(5min);
  EXPECT_EQ(world.journal.violation, "");
  world.shared->faults = {};
  world.run(2min);
  EXPECT_NE(world.leader(), nullptr);
}

// C06: a node that has been replaced cannot erase its successor by stopping.
TEST(CandidateTest, ALoserThatStopsDoesNotEraseTheWinner) {
  World world;
  auto& a = world.add("a");
  auto& b = world.add("b");
  world.run(10s);
  ASSERT_TRUE(a.leads());
  a.process->pause(world.world.now() + 20s);
  world.run(15s);
  ASSERT_TRUE(b.leads());
  bool stopped = false;
  a.tell([&](Candidate& candidate) { candidate.stop([&] { stopped = true; }); });
  world.run(30s);
  EXPECT_TRUE(stopped);
  EXPECT_TRUE(b.leads());
  EXPECT_EQ(world.stored().leader, WorkerId("b"));
}

// C08: a node on which the work does not start gives up, and someone else leads.
TEST(CandidateTest, WhereTheWorkDoesNotStartSomebodyElseLeads) {
  World world;
  world.habits.start_fails = 1;
  auto& a = world.add("a");
  world.habits.start_fails = 0;
  auto& b = world.add("b");
  world.run(60s);
  EXPECT_EQ(b.state(), S::kLeading);
  EXPECT_TRUE(b.work->runs());
  ASSERT_FALSE(a.saw<telemetry::LostLeadership>().empty());
  EXPECT_EQ(a.saw<telemetry::LostLeadership>()[0].reason, EndReason::kStartFailed);
  EXPECT_EQ(a.saw<telemetry::LostLeadership>()[0].detail, "planted: does not start");
}

// C16: work that fails for good moves.
TEST(CandidateTest, WorkThatFailsForGoodMovesToAnotherNode) {
  World world;
  world.habits.fails_later = 1;
  auto& a = world.add("a");
  world.habits.fails_later = 0;
  auto& b = world.add("b");
  world.run(3min);
  EXPECT_EQ(b.state(), S::kLeading);
  EXPECT_EQ(a.saw<telemetry::LostLeadership>()[0].reason, EndReason::kWorkFailed);
  EXPECT_EQ(a.state(), S::kStandby);
}

TEST(CandidateTest, ANodeThatFailsAgainAndAgainBacksOffAndIsReported) {
  World world;
  world.habits.start_fails = 1;
  auto& a = world.add("a");
  world.run(10min);
  const auto terms = a.candidate->metrics().became_leader;
  EXPECT_GE(terms, 5u);
  EXPECT_LE(terms, 40u) << "once a minute at the end";
  EXPECT_EQ(a.candidate->metrics().short_terms, terms);
  EXPECT_FALSE(a.saw<telemetry::Flapping>().empty());
}

// C17: a renewal proves the ownership of the lease, not the connection to the store.
TEST(CandidateTest, ALeaderWhoseLeaseWasTakenFindsOutByItsNextRenewal) {
  World world;
  auto& a = world.add("a");
  world.run(10s);
  ASSERT_TRUE(a.leads());
  LeaderState state = world.stored();
  state.leader = WorkerId("stranger");
  state.incarnation = Incarnation("theirs");
  state.epoch = next(state.epoch);
  world.overwrite(world.keys.state, encode(state));
  world.run(2s);
  EXPECT_FALSE(a.leads());
  EXPECT_FALSE(a.work->runs());
  EXPECT_EQ(a.saw<telemetry::LostLeadership>()[0].reason, EndReason::kReplaced);
  EXPECT_EQ(a.candidate->current_leader(), WorkerId("stranger"));
}

// C01: also the first look of a node that starts after a crash of everybody honours the delay.
TEST(CandidateTest, TheTakeoverDelayIsHonouredByANodeThatStartsAfterACrash) {
  World world;
  world.options.takeover_delay = 5s;
  auto& a = world.add("a");
  world.run(10s);
  world.kill(a);
  auto& b = world.add("b");
  world.run(10500ms);
  EXPECT_FALSE(b.leads()) << "a lease of 6 s and 5 s of delay";
  EXPECT_EQ(b.state(), S::kTakeoverWait);
  world.run(3s);
  EXPECT_TRUE(b.leads());
}

// C14: every call has a deadline: a store that hangs does not hold up a stop.
TEST(CandidateTest, AHangingStoreDoesNotHoldUpAStop) {
  World world;
  auto& a = world.add("a");
  world.run(10s);
  world.shared->faults.down = true;
  bool stopped = false;
  a.tell([&](Candidate& candidate) { candidate.stop([&] { stopped = true; }); });
  EXPECT_LT(world.run_until([&] { return stopped; }, 1min), 6s);
  EXPECT_FALSE(a.work->runs());
  EXPECT_EQ(a.saw<telemetry::LostLeadership>().size(), 1u);
}

TEST(CandidateTest, AnIneligibleNodeOnlyWatches) {
  World world;
  world.options.eligible = false;
  auto& a = world.add("a");
  world.run(60s);
  EXPECT_EQ(a.state(), S::kIneligible);
  EXPECT_TRUE(world.body(world.keys.state).empty());
  world.options.eligible = true;
  world.add("b");
  world.run(10s);
  EXPECT_EQ(a.candidate->current_leader(), WorkerId("b"));
  a.tell([](Candidate& candidate) { candidate.set_eligible(true); });
  world.run(10s);
  EXPECT_EQ(a.state(), S::kStandby);
}

}  // namespace candidate_test
}  // namespace muster
