#include <gtest/gtest.h>

#include "coordinator/coordinator_test_world.h"

namespace muster {
namespace coordinator_election_test {

// S19: the first leader of an empty bucket comes with the first heartbeat.
TEST(CoordinatorTest, TheFirstWorkerLeadsWithinASecondOfItsFirstHeartbeat) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  EXPECT_LT(world.run_until([&] { return a.leads(); }, 10s), 1s);
  world.run(1s);
  const auto changes = a.saw<LeaderChangedEvent>();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].name_space, "default");
  EXPECT_EQ(changes[0].previous_leader, std::nullopt);
  EXPECT_EQ(changes[0].new_leader, WorkerId("a"));
  EXPECT_EQ(changes[0].epoch, Epoch(1));
}

TEST(CoordinatorTest, TheLexicographicallyFirstWorkerWinsASimultaneousStart) {
  CoordinatorWorld world;
  for (const char* id : {"pod-abc", "pod-def", "pod-123"}) world.add(id);
  world.run(10s);
  ASSERT_NE(world.leader(), nullptr);
  EXPECT_EQ(world.leader()->coordinator->worker_id(), WorkerId("pod-123"));
  for (auto& node : world.nodes) {
    EXPECT_EQ(node->coordinator->leader(), WorkerId("pod-123"));
    EXPECT_EQ(node->coordinator->epoch(), Epoch(1));
  }
}

// S04: with the store frozen for 62 s and a 5 s lease, nobody leads once the deadline has passed.
TEST(CoordinatorTest, AFrozenStoreEndsLeadershipInTimeOnEveryWorker) {
  CoordinatorWorld world;
  world.options.heartbeat_interval = 1500ms;
  world.options.heartbeat_jitter = 500ms;
  world.options.lease_timeout = 5s;
  world.options.worker_timeout = 8s;
  auto& a = world.add("a");
  world.add("b");
  world.run(10s);
  ASSERT_TRUE(a.leads());
  world.shared->faults.down = true;
  world.run(5s);
  EXPECT_EQ(world.leader(), nullptr);
  world.run(57s);
  EXPECT_EQ(world.leader(), nullptr);
  for (auto& node : world.nodes) EXPECT_EQ(node->coordinator->leader(), std::nullopt);
  world.shared->faults.down = false;
  world.run(60s);
  ASSERT_NE(world.leader(), nullptr);
  EXPECT_GT(world.leader()->coordinator->epoch(), Epoch(1));
}

// S03: a lease is written with the times of its send, however slow the read before it was, and a
// live one is never overwritten.
TEST(CoordinatorTest, LeasesAreWrittenWithTheTimesOfTheirSend) {
  CoordinatorWorld world;
  world.shared->faults.latency_min = 1s;
  world.shared->faults.latency_max = 1200ms;
  auto& a = world.add("a");
  world.add("b");
  std::optional<LeaderState> last;
  Duration written_at{};
  world.shared->objects->subscribe([&](const MemoryObjects::Change& change) {
    if (change.key != world.keys.state) return;
    const LeaderState next = world.state();
    const Duration age = a.process->wall_now() - next.written_at;
    EXPECT_LE(age, 1201ms);
    const bool other = last && last->leader && next.incarnation != last->incarnation;
    EXPECT_FALSE(other && world.world.now() - written_at < 15s);
    last = next;
    written_at = world.world.now();
  });
  world.run(2min);
  EXPECT_TRUE(last.has_value());
}

// S16: anyone who takes part reclaims an expired lease with its heartbeats; nobody has to wait for
// it.
TEST(CoordinatorTest, CrashFailoverTakesALeaseAndTwoSecondsAtTheMost) {
  std::vector<Duration> times;
  for (std::uint64_t seed = 1; seed <= 21; ++seed) {
    CoordinatorWorld world(seed);
    auto& a = world.add("a");
    world.add("b");
    world.add("c");
    world.run(20s + world.world.random().between(0s, 5s));
    ASSERT_TRUE(a.leads());
    world.kill(a);
    times.push_back(world.run_until([&] { return world.leader() != nullptr; }, 60s));
  }
  std::sort(times.begin(), times.end());
  EXPECT_LE(times[times.size() / 2], 17s);
  EXPECT_LE(times.back(), 25s);
}

// P07: a clean stop hands over within one heartbeat interval.
TEST(CoordinatorTest, AGracefulStopHandsOverWithinOneHeartbeatInterval) {
  std::vector<Duration> times;
  for (std::uint64_t seed = 1; seed <= 21; ++seed) {
    CoordinatorWorld world(seed);
    auto& a = world.add("a");
    world.add("b");
    world.add("c");
    world.run(20s);
    ASSERT_TRUE(a.leads());
    bool stopped = false;
    a.process->post([&] { a.coordinator->stop([&] { stopped = true; }); });
    times.push_back(
        world.run_until([&] { return world.leader() != nullptr && world.leader() != &a; }, 60s));
    EXPECT_TRUE(stopped);
  }
  std::sort(times.begin(), times.end());
  EXPECT_LE(times[times.size() / 2], 5s);
}

// S13, C09: plugins are stopped first, then the lease is released, then the worker leaves.
TEST(CoordinatorTest, StoppingStopsPluginsThenReleasesThenLeaves) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.run(5s);
  std::vector<std::string> order;
  world.shared->objects->subscribe([&](const MemoryObjects::Change& change) {
    order.push_back((change.removed ? "removed " : "wrote ") +
                    change.key.substr(change.key.rfind('/') + 1) + " after " +
                    std::to_string(a.plugin->notes.size()) + " notes");
  });
  bool stopped = false;
  a.process->post([&] { a.coordinator->stop([&] { stopped = true; }); });
  world.run(2s);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(a.plugin->notes, (std::vector<std::string>{"became 1", "stopped"}));
  EXPECT_EQ(order, (std::vector<std::string>{"wrote state.json after 2 notes",
                                             "removed worker=a.json after 2 notes"}));
  EXPECT_EQ(world.state().leader, std::nullopt);
  EXPECT_EQ(world.state().released->epoch, Epoch(1));
}

TEST(CoordinatorTest, SteppingDownPrefersTheOneNamedAndDoesNotWinAgainAtOnce) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.add("b");
  auto& c = world.add("c");
  world.run(20s);
  ASSERT_TRUE(a.leads());
  a.process->post([&] { a.coordinator->step_down(WorkerId("c"), 30s, [] {}); });
  world.run(10s);
  EXPECT_TRUE(c.leads());
  EXPECT_EQ(c.coordinator->epoch(), Epoch(2));
}

TEST(CoordinatorTest, AStopDuringAHandOverAnswersBoth) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.run(5s);
  ASSERT_TRUE(a.leads());
  std::vector<std::string> answered;
  a.process->post([&] {
    a.coordinator->step_down({}, 30s, [&] { answered.emplace_back("stepped down"); });
    a.coordinator->step_down({}, 30s, [&] { answered.emplace_back("refused"); });
    a.coordinator->stop([&] { answered.emplace_back("stopped"); });
  });
  world.run(10s);
  EXPECT_EQ(answered, (std::vector<std::string>{"refused", "stepped down", "stopped"}));
  EXPECT_FALSE(a.leads());
}

// S10: clocks an hour apart change nothing.
TEST(CoordinatorTest, WallClocksAnHourApartChangeNothing) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  auto& b = world.add("b");
  world.run(10s);
  ASSERT_TRUE(a.leads());
  b.process->jump_wall_clock(1h);
  a.process->jump_wall_clock(-1h);
  world.run(2min);
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(world.state().epoch, Epoch(1));
}

// S05: two processes with one id: one leads, the other reports the duplicate.
TEST(CoordinatorTest, TwoProcessesWithOneIdAreFoundOutAndOnlyOneLeads) {
  CoordinatorWorld world;
  auto& first = world.add("same");
  world.run(8s);
  auto& second = world.add("same");
  world.run(60s);
  EXPECT_NE(first.leads(), second.leads());
  const auto reports = [](const CoordinatorWorld::Node& node) {
    for (const auto& trouble : node.saw<TroubleEvent>()) {
      if (trouble.kind == TroubleEvent::Kind::kDuplicateWorker) return true;
    }
    return false;
  };
  EXPECT_TRUE(reports(first) || reports(second));
}

// S09: an idle namespace keeps its epoch, whatever happens to its worker list.
TEST(CoordinatorTest, TheEpochSurvivesIdlenessAndADeletedWorkerList) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.run(10s);
  a.process->post([&] { a.coordinator->stop([] {}); });
  world.run(24h);
  world.kill(a);
  (void)world.shared->objects->remove(world.keys.worker(WorkerId("a")), {});
  auto& b = world.add("b");
  world.run(10s);
  EXPECT_TRUE(b.leads());
  EXPECT_EQ(b.coordinator->epoch(), Epoch(2));
}

// S18: corrupt and foreign states are reported, and recovered from above their epoch.
TEST(CoordinatorTest, ACorruptStateIsReportedAndALeaderIsFoundAboveItsEpoch) {
  for (const char* garbage : {"not json", "{\"leaderId\":\"a\",\"epoch\":\"40\"}", ""}) {
    CoordinatorWorld world;
    auto& a = world.add("a");
    world.add("b");
    world.run(20s);
    ASSERT_TRUE(a.leads());
    world.overwrite(world.keys.state, garbage);
    world.run(60s);
    ASSERT_NE(world.leader(), nullptr) << garbage;
    EXPECT_GT(world.state().epoch,
              std::string(garbage).find("40") != std::string::npos ? Epoch(40) : Epoch(1));
    const auto damaged = [](const auto& node) {
      const auto troubles = node->template saw<TroubleEvent>();
      return std::any_of(troubles.begin(), troubles.end(), [](const TroubleEvent& trouble) {
        return trouble.kind == TroubleEvent::Kind::kStateDamaged;
      });
    };
    EXPECT_TRUE(std::any_of(world.nodes.begin(), world.nodes.end(), damaged)) << garbage;
  }
}

// E9: a foreign leader is respected for its lease, then succeeded with a higher epoch.
TEST(CoordinatorTest, AForeignLeaderIsRespectedWhileItsLeaseRuns) {
  CoordinatorWorld world;
  world.overwrite(world.keys.state,
                  R"({"leaderId":"theirs","epoch":9,"leaseStart":1000,"leaseEnd":16000})");
  auto& a = world.add("a");
  world.run(14s);
  EXPECT_FALSE(a.leads());
  EXPECT_EQ(a.coordinator->leader(), WorkerId("theirs"));
  world.run(8s);
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(a.coordinator->epoch(), Epoch(10));
}

TEST(CoordinatorTest, AnUnsafeStoreIsRefusedBeforeAnyCampaign) {
  CoordinatorWorld world;
  auto& a = world.add("a", [](Callback<Done> done) {
    done({Errc::kUnsupported, "the store accepted a stale revision"});
  });
  world.run(60s);
  EXPECT_FALSE(a.leads());
  ASSERT_EQ(a.saw<TroubleEvent>().size(), 1u);
  EXPECT_EQ(a.saw<TroubleEvent>()[0].kind, TroubleEvent::Kind::kUnsafeStore);
  EXPECT_TRUE(world.body(world.keys.state).empty());
}

TEST(CoordinatorTest, AWorkerWithOtherTimingsIsTold) {
  CoordinatorWorld world;
  world.add("a");
  world.run(10s);
  world.options.lease_timeout = 30s;
  world.options.worker_timeout = 40s;
  auto& b = world.add("b");
  world.run(10s);
  ASSERT_EQ(b.saw<TroubleEvent>().size(), 1u);
  EXPECT_EQ(b.saw<TroubleEvent>()[0].kind, TroubleEvent::Kind::kTimingsDiffer);
}

TEST(CoordinatorTest, AWorkerThatIsNotEnabledOnlyObserves) {
  CoordinatorWorld world;
  world.options.enable_coordinator = false;
  auto& a = world.add("a");
  world.run(60s);
  EXPECT_FALSE(a.leads());
  world.options.enable_coordinator = true;
  auto& b = world.add("b");
  world.run(20s);
  EXPECT_TRUE(b.leads());
  EXPECT_EQ(a.coordinator->leader(), WorkerId("b"));
}

}  // namespace coordinator_election_test
}  // namespace muster
