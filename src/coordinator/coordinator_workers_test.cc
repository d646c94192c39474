#include <gtest/gtest.h>

#include "coordinator/coordinator_test_world.h"
#include "elector/testing.h"

namespace muster {
namespace coordinator_workers_test {

using Ids = std::vector<WorkerId>;

// S21: workers:updated is emitted on every worker, and workerTimeouts counts.
TEST(RosterTest, EveryWorkerLearnsWhoIsInAndWhoFellSilent) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  auto& b = world.add("b");
  auto& c = world.add("c");
  world.run(40s);
  const Ids all{WorkerId("a"), WorkerId("b"), WorkerId("c")};
  for (auto* node : {&a, &b, &c}) {
    EXPECT_EQ(node->coordinator->workers(), all);
    ASSERT_FALSE(node->saw<WorkersUpdatedEvent>().empty());
    EXPECT_EQ(node->saw<WorkersUpdatedEvent>().back().workers, all);
  }
  EXPECT_EQ(a.coordinator->metrics().worker_registrations, 3u);
  world.kill(c);
  world.run(60s);
  EXPECT_EQ(a.coordinator->workers(), (Ids{WorkerId("a"), WorkerId("b")}));
  EXPECT_EQ(b.coordinator->workers(), (Ids{WorkerId("a"), WorkerId("b")}));
  EXPECT_EQ(a.coordinator->metrics().worker_timeouts, 1u);
  EXPECT_EQ(b.coordinator->metrics().worker_timeouts, 1u) << "followers count what the leader does";
}

// R12: at default settings, with a removal at a revision and, as on S3, without.
TEST(RosterTest, AWorkerThatLeavesInOrderIsSeenToWithinAHeartbeatAndNeverCounted) {
  for (const bool conditional_remove : {true, false}) {
    SCOPED_TRACE(conditional_remove);
    CoordinatorWorld world;
    world.shared->conditional_remove = conditional_remove;
    auto& a = world.add("a");
    auto& b = world.add("b");
    auto& c = world.add("c");
    world.run(40s);
    ASSERT_TRUE(a.leads());
    c.process->post([&] { c.coordinator->stop([] {}); });
    const Ids rest{WorkerId("a"), WorkerId("b")};
    const Duration heartbeat = world.options.heartbeat_interval + world.options.heartbeat_jitter;
    EXPECT_LE(world.run_until([&] { return a.coordinator->workers() == rest; }, 1min),
              heartbeat + 1s);
    EXPECT_LE(world.run_until([&] { return b.coordinator->workers() == rest; }, 1min),
              heartbeat + 1s);
    EXPECT_TRUE(world.body(world.keys.worker(WorkerId("c"))).empty());
    world.run(60s);
    EXPECT_EQ(a.coordinator->metrics().worker_timeouts, 0u);
    EXPECT_EQ(b.coordinator->metrics().worker_timeouts, 0u);
  }
}

// R12: who takes over counts on, and nobody twice.
TEST(RosterTest, ATimeoutIsCountedOnceByEveryWorkerWhoeverLeads) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  auto& b = world.add("b");
  auto& c = world.add("c");
  auto& d = world.add("d");
  world.run(40s);
  world.kill(d);
  world.run(60s);
  ASSERT_TRUE(a.leads());
  a.process->post([&] { a.coordinator->step_down(WorkerId("b"), 5min, [] {}); });
  world.run(40s);
  ASSERT_TRUE(b.leads());
  world.kill(c);
  world.run(60s);
  EXPECT_EQ(a.coordinator->metrics().worker_timeouts, 2u);
  EXPECT_EQ(b.coordinator->metrics().worker_timeouts, 2u);
  const auto& late = world.add("e");
  world.run(30s);
  EXPECT_EQ(late.coordinator->metrics().worker_timeouts, 0u) << "that was before it came";
}

TEST(RosterTest, AReleaseTellsNothingNewAboutTheWorkers) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.add("b");
  world.run(40s);
  ASSERT_TRUE(a.leads());
  const auto before = a.saw<WorkersUpdatedEvent>().size();
  a.process->post([&] { a.coordinator->step_down(WorkerId("b"), 30s, [] {}); });
  world.run(3s);
  EXPECT_EQ(a.saw<WorkersUpdatedEvent>().size(), before);
  EXPECT_EQ(a.coordinator->workers(), (Ids{WorkerId("a"), WorkerId("b")}));
}

TEST(RosterTest, UnderAForeignLeaderWorkersListForThemselves) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  auto& b = world.add("b");
  for (int i = 0; i < 20; ++i) {
    world.overwrite(world.keys.state, R"({"leaderId":"theirs","epoch":9,"leaseStart":1000,)"
                                      R"("leaseEnd":16000,"n":)" +
                                          std::to_string(i) + "}");
    world.run(5s);
  }
  EXPECT_EQ(a.coordinator->workers(), (Ids{WorkerId("a"), WorkerId("b")}));
  EXPECT_EQ(b.coordinator->leader(), WorkerId("theirs"));
}

// S14: more workers than one page of a list holds.
TEST(RosterTest, ThousandsOfWorkersAreSeen) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.run(5s);
  for (int i = 0; i < 2500; ++i) {
    WorkerRecord record;
    record.worker = WorkerId("w" + std::to_string(i));
    world.overwrite(world.keys.worker(record.worker), encode(record));
  }
  world.run(15s);
  EXPECT_EQ(a.coordinator->workers().size(), 2501u);
  EXPECT_TRUE(a.leads());
}

// S11: a silent worker's file is removed only at the revision that was seen to be silent.
TEST(RosterTest, FilesOfTheLongDeadAreSwept) {
  CoordinatorWorld world;
  world.add("a");
  auto& b = world.add("b");
  world.run(20s);
  world.kill(b);
  world.run(2min);
  EXPECT_FALSE(world.body(world.keys.worker(WorkerId("b"))).empty());
  world.run(3min);
  EXPECT_TRUE(world.body(world.keys.worker(WorkerId("b"))).empty());
}

// R07: no clock but one's own removes anything. What stood there unchanged at an earlier look of
// this worker, in whatever term, goes soon, and nobody waits for it.
TEST(RosterTest, WhatWasLeftBehindLongAgoIsNobodyAndIsSwept) {
  sim::World world(1);
  sim::Process process(world, 1.0, 0s);
  const auto objects = std::make_shared<MemoryObjects>();
  testing::ScriptedStore store(process, objects);
  store.conditional_remove = false;
  const NamespaceKeys keys("default");
  for (int i = 0; i < 50; ++i) {
    WorkerRecord record;
    record.worker = WorkerId("w" + std::to_string(i));
    record.stopped = true;
    (void)objects->put(keys.worker(record.worker), encode(record), {}, {}, process.now());
  }
  world.run(world.now() + 1min);
  Roster roster(process, store, keys,
                {.self = WorkerId("a"), .worker_timeout = 1s, .sweep_after = 10s}, {}, Random(1));
  process.post([&] { roster.beat(0s); });
  world.run(world.now() + 1s);
  EXPECT_EQ(objects->entries().size(), 50u) << "a minute old, by a clock that is not one's own";
  process.post([&] { roster.forget(); });
  world.run(world.now() + 10s);
  for (const std::size_t left : {30u, 10u, 0u}) {
    process.post([&] { roster.beat(0s); });
    world.run(world.now() + 1s);
    EXPECT_EQ(roster.live(), Ids{WorkerId("a")});
    EXPECT_EQ(objects->entries().size(), left);
  }
  process.kill();
}

// S11: a worker that comes back after the list, and before the removal arrives, keeps its file.
TEST(RosterTest, ARenewalDuringTheSweepKeepsTheFile) {
  for (const bool conditional_remove : {true, false}) {
    sim::World world(1);
    sim::Process process(world, 1.0, 0s);
    const auto shared = std::make_shared<sim::SharedStore>();
    shared->conditional_remove = conditional_remove;
    shared->faults.latency_min = shared->faults.latency_max = 400ms;
    sim::FaultyStore store(world, process, shared);
    const NamespaceKeys keys("default");
    const std::string key = keys.worker(WorkerId("b"));
    const auto write = [&](const char* nonce) {
      WorkerRecord record;
      record.worker = WorkerId("b");
      record.nonce = Nonce(nonce);
      (void)shared->objects->put(key, encode(record), {}, {}, MonoTime());
    };
    Roster roster(process, store, keys,
                  {.self = WorkerId("a"), .worker_timeout = 1s, .sweep_after = 10s}, {}, Random(1));
    const auto pass = [&](Duration time) { world.run(world.now() + time); };
    const auto list = [&] { process.post([&] { roster.beat(0s); }); };
    write("1");
    list();
    pass(11s);
    list();
    pass(600ms);  // The list has been made, and its answer is under way.
    write("2");
    pass(10s);
    EXPECT_TRUE(shared->objects->entries().contains(key)) << conditional_remove;
    list();
    pass(11s);
    list();
    pass(10s);
    EXPECT_FALSE(shared->objects->entries().contains(key)) << "silent again, and swept";
    process.kill();
  }
}

// S17: where the store cannot remove at a revision, the file is marked by compare-and-swap before
// it is removed, and a worker that comes back keeps away from the mark.
TEST(RosterTest, WithoutConditionalRemovalTheFileIsMarkedBeforeItIsRemoved) {
  CoordinatorWorld world;
  world.shared->conditional_remove = false;
  world.add("a");
  auto& b = world.add("b");
  world.run(20s);
  world.kill(b);
  std::vector<std::string> order;
  world.shared->objects->subscribe([&](const MemoryObjects::Change& change) {
    if (change.key != world.keys.worker(WorkerId("b"))) return;
    order.push_back(change.removed                                 ? "removed"
                    : decode_worker(world.body(change.key))->sweep ? "marked"
                                                                   : "written");
  });
  world.run(6min);
  EXPECT_EQ(order, (std::vector<std::string>{"marked", "removed"}));
}

TEST(WorkerRegistrationTest, AMarkedFileIsNotWrittenOver) {
  CoordinatorWorld world;
  WorkerRecord mark;
  mark.worker = WorkerId("b");
  mark.sweep = true;
  mark.stopped = true;
  const std::string key = world.keys.worker(WorkerId("b"));
  world.overwrite(key, encode(mark));
  world.add("b");
  world.run(30s);
  EXPECT_TRUE(decode_worker(world.body(key))->sweep);
  (void)world.shared->objects->remove(key, {});
  world.run(5s);
  EXPECT_FALSE(decode_worker(world.body(key))->sweep);
}

// A full disk, or a bucket that takes no writes, is not asked at full speed.
TEST(WorkerRegistrationTest, AStoreThatRefusesTheFileIsAskedAgainAfterAWhile) {
  CoordinatorWorld world;
  WorkerRecord earlier;
  earlier.worker = WorkerId("b");
  earlier.stopped = true;
  world.overwrite(world.keys.worker(WorkerId("b")), encode(earlier));
  world.shared->faults.disk_full = true;
  auto& b = world.add("b");
  world.run(10s);
  EXPECT_LT(b.store->calls(), 90u) << "at full speed it is 160";
  world.shared->faults.disk_full = false;
  world.run(30s);
  EXPECT_TRUE(b.leads());
}

TEST(WorkerRegistrationTest, ATombstoneIsReplacedAtItsRevision) {
  CoordinatorWorld world;
  world.shared->conditional_remove = false;
  const std::string key = world.keys.worker(WorkerId("b"));
  WorkerRecord left;
  left.worker = WorkerId("b");
  left.incarnation = Incarnation("earlier");
  left.stopped = true;
  world.overwrite(key, encode(left));
  world.add("b");
  world.run(2s);
  EXPECT_FALSE(decode_worker(world.body(key))->stopped);
}

/// Notes what the file of `id` tells of outages, write by write.
void note_outages(CoordinatorWorld& world, const std::string& id, std::vector<Outage>& told) {
  const std::string key = world.keys.worker(WorkerId(id));
  world.shared->objects->subscribe([&world, &told, key](const MemoryObjects::Change& change) {
    if (change.key != key || change.removed) return;
    const auto record = decode_worker(world.body(key));
    if (record && record->outage) told.push_back(*record->outage);
  });
}

TEST(WorkerRegistrationTest, AnOutageThatOpenedTheBreakerIsToldOnceWhenItIsOver) {
  std::vector<Outage> told;
  CoordinatorWorld world;
  auto& a = world.add("a");
  note_outages(world, "a", told);
  world.run(10s);
  for (std::uint64_t outage = 1; outage <= 2; ++outage) {
    const std::uint64_t trips_before = a.coordinator->metrics().circuit_breaker.trips;
    const WallTime began = a.process->wall_now();
    world.shared->faults.down = true;
    world.run(75s);
    EXPECT_EQ(told.size(), outage - 1) << "nothing can be told yet";
    world.shared->faults.down = false;
    const WallTime ended = a.process->wall_now();
    world.run(90s);
    ASSERT_EQ(told.size(), outage);
    const std::uint64_t trips = a.coordinator->metrics().circuit_breaker.trips - trips_before;
    ASSERT_GE(trips, 2U);
    EXPECT_EQ(told.back().opened, trips);
    EXPECT_GE(told.back().failures, 12U) << "one per heartbeat of 75 s, open or not";
    EXPECT_LE(told.back().failures, 16U);
    EXPECT_GT(told.back().since, began - 1s);
    EXPECT_LT(told.back().since, began + 10s);
    EXPECT_GE(told.back().since + told.back().lasted, ended);
    EXPECT_LT(told.back().since + told.back().lasted, ended + 60s);
    EXPECT_EQ(decode_worker(world.body(world.keys.worker(WorkerId("a"))))->outage, std::nullopt);
  }
}

TEST(WorkerRegistrationTest, AnOutageThatDidNotOpenTheBreakerIsNotTold) {
  std::vector<Outage> told;
  CoordinatorWorld world;
  world.add("a");
  note_outages(world, "a", told);
  world.run(10s);
  world.shared->faults.down = true;
  world.run(6s);
  world.shared->faults.down = false;
  world.run(60s);
  EXPECT_TRUE(told.empty());
}

TEST(WorkerRegistrationTest, AnOutageIsToldAlsoWhenTheFileWasSweptMeanwhile) {
  std::vector<Outage> told;
  CoordinatorWorld world;
  world.add("a");
  auto& b = world.add("b");
  note_outages(world, "b", told);
  world.run(20s);
  b.store->set_cut_off(true);
  world.run(6min);
  EXPECT_TRUE(world.body(world.keys.worker(WorkerId("b"))).empty());
  b.store->set_cut_off(false);
  world.run(90s);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_GT(told[0].lasted, 5min);
}

// No worker is ever closer than two lost requests to being taken for dead.
TEST(WorkerRegistrationTest, TwoLostRequestsInARowDoNoHarm) {
  for (Duration offset = 0s; offset < 12s; offset += 500ms) {
    CoordinatorWorld world;
    auto& a = world.add("a");
    auto& b = world.add("b");
    world.run(40s + offset);
    b.store->set_cut_off(true);
    world.run(6s);
    b.store->set_cut_off(false);
    world.run(40s);
    EXPECT_EQ(a.coordinator->metrics().worker_timeouts, 0u) << to_ms(offset) << " ms";
  }
}

// Steady state, counted call by call, for each heartbeat of each worker.
double calls_per_worker_cycle(int workers) {
  CoordinatorWorld world;
  for (int i = 0; i < workers; ++i) world.add("w" + std::to_string(1000 + i));
  const auto count = [&] {
    std::pair<std::uint64_t, std::uint64_t> sum;
    for (auto& node : world.nodes) {
      sum.first += node->store->calls();
      sum.second += node->coordinator->metrics().heartbeat_count;
    }
    return sum;
  };
  world.run(2min);
  const auto before = count();
  world.run(10min);
  const auto after = count();
  return static_cast<double>(after.first - before.first) /
         static_cast<double>(after.second - before.second);
}

// P04, E10: few requests, whatever the number of workers.
TEST(RequestsTest, AWorkerCycleCostsFewRequests) {
  EXPECT_LE(calls_per_worker_cycle(1), 2.01);
  EXPECT_LE(calls_per_worker_cycle(8), 1.6);
  EXPECT_LE(calls_per_worker_cycle(100), 1.6);
}

TEST(RequestsTest, ManyPluginsCostTheSameAsOne) {
  const auto calls = [](int plugins) {
    CoordinatorWorld world;
    auto& a = world.add("a");
    for (int i = 1; i < plugins; ++i) {
      a.coordinator->plugins().subscribe(std::make_shared<NotingPlugin>(std::to_string(i)));
    }
    world.run(5min);
    return a.store->calls();
  };
  EXPECT_EQ(calls(10), calls(1));
}

}  // namespace coordinator_workers_test
}  // namespace muster
