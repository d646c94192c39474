#include <gtest/gtest.h>

#include "coordinator/coordinator_test_world.h"

namespace muster {
namespace coordinator_plugins_test {

using Notes = std::vector<std::string>;

// P19: the loss callback comes on every path, exactly once for each term.
TEST(PluginHostTest, EveryTermIsAnnouncedAndEndedExactlyOnce) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.run(5s);
  EXPECT_EQ(a.plugin->notes, Notes{"became 1"});
  // Expired: the store is gone for longer than the lease.
  world.shared->faults.down = true;
  world.run(40s);
  EXPECT_EQ(a.plugin->notes, (Notes{"became 1", "stopped"}));
  world.shared->faults.down = false;
  world.run(60s);
  EXPECT_EQ(a.plugin->notes, (Notes{"became 1", "stopped", "became 2"}));
  // Replaced: someone else stands in the state.
  world.overwrite(
      world.keys.state,
      R"({"leaderId":"x","epoch":7,"leaseStart":0,"leaseEnd":15000,"incarnation":"x"})");
  world.run(10s);
  EXPECT_EQ(a.plugin->notes.size(), 4u);
  world.run(60s);
  EXPECT_EQ(a.plugin->notes.back(), "became 8");
  // Released.
  a.process->post([&] { a.coordinator->stop([] {}); });
  world.run(5s);
  EXPECT_EQ(a.plugin->notes.back(), "stopped");
  EXPECT_EQ(a.plugin->notes.size(), 6u);
}

// What is released, with a receipt, must not be in use: the successor does not wait.
TEST(PluginHostTest, ATermThatBeginsDuringAHandOverIsNotTold) {
  sim::World world(1);
  sim::Process process(world, 1.0, 0s);
  sim::Process callbacks(world, 1.0, 0s);
  const auto shared = std::make_shared<sim::SharedStore>();
  shared->faults.latency_min = shared->faults.latency_max = 100ms;
  const NamespaceKeys keys("default");
  bool acquiring = false;
  shared->on_send = [&](const Key& key, const std::string&) { acquiring |= key == keys.state; };
  sim::FaultyStore store(world, process, shared);
  CoordinatorOptions options;
  options.worker_id = WorkerId("a");
  options.startup_jitter_max = 0s;
  ASSERT_TRUE(options.validate().ok());
  NamespaceCoordinator coordinator("default", options, {process, callbacks, store, Random(1), {}});
  const auto plugin = std::make_shared<NotingPlugin>();
  coordinator.plugins().subscribe(plugin);
  process.post([&] { coordinator.start(); });
  while (!acquiring) world.run(world.now() + 10ms);
  // A listener takes its time, while the acquisition is under way and this worker is stopped.
  callbacks.pause(world.now() + 1s);
  bool stopped = false;
  process.post([&] { coordinator.stop([&] { stopped = true; }); });
  world.run(world.now() + 500ms);
  EXPECT_TRUE(coordinator.leads()) << "the test shows nothing";
  world.run(world.now() + 5s);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(plugin->notes, Notes{});
  const auto state = decode_leader_state(shared->objects->entries().at(keys.state).body);
  EXPECT_FALSE(state->leader);
  process.kill();
  callbacks.kill();
}

// S07: a plugin that subscribes late learns of the term and of the epoch.
TEST(PluginHostTest, ALateSubscriberIsToldOfTheTermAndTheEpoch) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  auto& b = world.add("b");
  world.run(20s);
  const auto on_leader = std::make_shared<NotingPlugin>("late");
  const auto on_follower = std::make_shared<NotingPlugin>("late");
  a.coordinator->plugins().subscribe(on_leader);
  b.coordinator->plugins().subscribe(on_follower);
  world.run(1s);
  EXPECT_EQ(on_leader->notes, Notes{"became 1"});
  EXPECT_TRUE(on_follower->notes.empty());
  EXPECT_EQ(on_follower->last_known_epoch(), Epoch(1));
}

TEST(PluginHostTest, UnsubscribingEndsTheTermForThatPluginOnly) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  const auto other = std::make_shared<NotingPlugin>("other");
  a.coordinator->plugins().subscribe(other);
  world.run(5s);
  bool done = false;
  a.coordinator->plugins().unsubscribe(other, [&] { done = true; });
  world.run(1s);
  EXPECT_TRUE(done);
  EXPECT_EQ(other->notes, (Notes{"became 1", "stopped"}));
  EXPECT_EQ(a.plugin->notes, Notes{"became 1"});
}

TEST(PluginHostTest, WorkIsCalledPeriodicallyWhileLeadingAndNeverAfter) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.run(31s);
  EXPECT_GE(a.plugin->works, 5);
  EXPECT_LE(a.plugin->works, 8);
  world.shared->faults.down = true;
  world.run(20s);
  const int works = a.plugin->works;
  world.run(60s);
  EXPECT_EQ(a.plugin->works, works);
}

// Work that outlives the lease finds its guard closed.
TEST(PluginHostTest, WorkThatOutlivesItsLeaseFindsItsGuardClosed) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  bool valid_at_first = false;
  const LeaseGuard* kept = nullptr;
  a.plugin->on_work = [&](const LeaseGuard& guard) {
    valid_at_first = guard.valid();
    kept = &guard;
  };
  world.run(5s);
  ASSERT_TRUE(valid_at_first);
  world.shared->faults.down = true;
  world.run(12s);
  EXPECT_FALSE(a.leads());
  world.kill(a);
  (void)kept;
}

TEST(PluginHostTest, APluginThatThrowsIsReportedAndStopsNothing) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  a.plugin->throws = true;
  world.run(60s);
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(a.coordinator->metrics().plugin_failures, 1u);
  ASSERT_EQ(a.saw<TroubleEvent>().size(), 1u);
  EXPECT_EQ(a.saw<TroubleEvent>()[0].kind, TroubleEvent::Kind::kPluginFailed);
  EXPECT_NE(a.saw<TroubleEvent>()[0].message.find("planted"), std::string::npos);
  EXPECT_GT(a.plugin->works, 5);
}

// S08: tasks are stamped by the dispatcher's epoch and checked on receipt.
TEST(PluginTest, TasksOfAReplacedLeaderAreRejectedAndCounted) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  auto& b = world.add("b");
  world.run(20s);
  const WallTime created = b.process->wall_now();
  EXPECT_TRUE(b.plugin->is_epoch_valid(Epoch(1), created));
  world.kill(a);
  world.run(60s);
  ASSERT_TRUE(b.leads());
  EXPECT_FALSE(b.plugin->is_epoch_valid(Epoch(1), created));
  EXPECT_FALSE(b.plugin->validate_epoch(Epoch(1)));
  EXPECT_TRUE(b.plugin->validate_epoch(Epoch(2)));
  EXPECT_EQ(b.coordinator->metrics().epoch_drift_events, 2u);
}

TEST(PluginTest, WithFencingOffEverythingIsAccepted) {
  CoordinatorWorld world;
  world.options.epoch_fencing.enabled = false;
  auto& a = world.add("a");
  world.run(5s);
  EXPECT_TRUE(a.plugin->validate_epoch(Epoch(0)));
  EXPECT_EQ(a.coordinator->metrics().epoch_drift_events, 0u);
}

// S12: the breaker opens at its threshold, half-opens, closes; events and metrics agree.
TEST(CircuitBreakerTest, OpensHalfOpensAndClosesWithTheStore) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  a.coordinator->plugins().listen([&a](const CoordinatorEvent& event) {
    const auto* breaker = std::get_if<CircuitBreakerEvent>(&event);
    if (!breaker) return;
    EXPECT_EQ(a.coordinator->metrics().circuit_breaker.state, breaker->state);
  });
  world.run(10s);
  const auto before = a.store->calls();
  world.shared->faults.down = true;
  world.run(45s);
  EXPECT_EQ(a.coordinator->metrics().circuit_breaker.state, CircuitState::kOpen);
  EXPECT_EQ(a.coordinator->metrics().circuit_breaker.trips, 1u);
  ASSERT_EQ(a.saw<CircuitBreakerEvent>().size(), 1u);
  EXPECT_EQ(a.saw<CircuitBreakerEvent>()[0].state, CircuitState::kOpen);
  EXPECT_EQ(a.saw<CircuitBreakerEvent>()[0].failure_count, 5u);
  EXPECT_LE(a.store->calls() - before, 25u);
  world.run(30s);  // Half-open, and the attempt fails.
  EXPECT_EQ(a.coordinator->metrics().circuit_breaker.trips, 2u);
  world.shared->faults.down = false;
  world.run(60s);
  EXPECT_EQ(a.coordinator->metrics().circuit_breaker.state, CircuitState::kClosed);
  EXPECT_TRUE(a.leads());
  std::vector<CircuitState> states;
  for (const auto& event : a.saw<CircuitBreakerEvent>()) states.push_back(event.state);
  EXPECT_EQ(states, (std::vector<CircuitState>{CircuitState::kOpen, CircuitState::kHalfOpen,
                                               CircuitState::kOpen, CircuitState::kClosed}));
}

// The outage begins when the renewal is due, so that two requests time out in it. Whatever the
// jitter is, the leader renews in the rest of its lease.
TEST(CircuitBreakerTest, AShortOutageDoesNotOpenItLongerThanALeaseLasts) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    CoordinatorWorld world(seed);
    auto& a = world.add("a");
    world.run(10s);
    world.shared->faults.down = true;
    world.run(6s);
    world.shared->faults.down = false;
    world.run(10s);
    EXPECT_TRUE(a.leads());
    EXPECT_EQ(a.coordinator->epoch(), Epoch(1));
    EXPECT_TRUE(a.saw<CircuitBreakerEvent>().empty());
  }
}

// S21: electionDurationMs and its like are measured, and not merely there.
TEST(MetricsTest, EveryMetricIsDrivenByWhatHappens) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.add("b");
  world.run(40s);
  CoordinatorMetrics metrics = a.coordinator->metrics();
  EXPECT_EQ(metrics.heartbeat_latency.note(), "insufficient data");
  world.run(60s);
  metrics = a.coordinator->metrics();
  EXPECT_GT(metrics.heartbeat_count, 15u);
  EXPECT_EQ(metrics.election_count, 1u);
  EXPECT_GT(metrics.election_duration, 0s);
  EXPECT_LT(metrics.election_duration, 1s);
  EXPECT_EQ(metrics.leader_changes, 1u);
  EXPECT_EQ(metrics.worker_registrations, 2u);
  EXPECT_GT(metrics.last_heartbeat_time, metrics.start_time);
  EXPECT_GT(metrics.heartbeat_latency.p99, 0s);
  EXPECT_TRUE(metrics.heartbeat_latency.note().empty());
  std::uint64_t elections = 0;
  for (const std::uint64_t n : metrics.election_durations) elections += n;
  EXPECT_EQ(elections, 1u);
  EXPECT_EQ(metrics.election_duration_sum, metrics.election_duration);
  EXPECT_EQ(metrics.heartbeat_latencies.size(), metrics.heartbeat_latency.count);
  EXPECT_EQ(*std::ranges::max_element(metrics.heartbeat_latencies), metrics.heartbeat_latency.p99);
  const std::string json = metrics.to_json();
  for (const char* name :
       {"heartbeatCount", "electionCount", "electionDurationMs", "leaderChanges",
        "workerRegistrations", "workerTimeouts", "startTime", "lastHeartbeatTime",
        "heartbeatLatencyP50", "heartbeatLatencyP95", "heartbeatLatencyP99", "heartbeatLatencies",
        "electionDurationHistogram", "epochDriftEvents", "contentionEvents", "trips"}) {
    EXPECT_NE(json.find(std::string("\"") + name + "\""), std::string::npos) << name;
  }
}

}  // namespace coordinator_plugins_test
}  // namespace muster
