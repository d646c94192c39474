// Every plugin, asked to stop at any of its requests, returns within a few more; and nothing is
// lost.

#include <gtest/gtest.h>

#include "base/log.h"
#include "plugins/counters.h"
#include "plugins/queue_testing.h"
#include "plugins/scheduler_scene.h"
#include "plugins/ttl.h"

namespace muster {
namespace stopping_test {

using testing::QueueMember;
using testing::SharedWorld;
using testing::TestProcess;

/// Requests that may follow the one during which the stop was asked for.
constexpr std::uint64_t kMoreMax = 2;

/// The guard of a term that is asked to end at the given request of a process. The requests are
/// counted on the loop of the store while the plugin waits for them.
struct StopAt {
  StopAt(TestProcess& asked, LeaseGuard& guard, std::uint64_t at) : process(asked), stop(at) {
    began = process.calls();
    process.set_script([&guard, from = began, at](std::uint64_t call, bool) {
      if (call - from >= at) guard.request_stop();
      return testing::Fault::kNone;
    });
  }
  /// False when the plugin had ended before.
  [[nodiscard]] bool in_time() {
    const std::uint64_t calls = process.calls() - began;
    EXPECT_LE(calls, stop + 1 + kMoreMax) << "asked to stop at request " << stop;
    process.set_script({});
    return calls > stop;
  }

  TestProcess& process;
  std::uint64_t began = 0;
  std::uint64_t stop;
};

struct StoppingTest : ::testing::Test {
  StoppingTest() { set_log_sink({}); }
};

// R08: a backlog of adds held a hand-over up for a whole lease.
TEST_F(StoppingTest, CountersWithABacklogReturnAndLoseNothing) {
  constexpr int kAdds = 24;
  std::uint64_t at = 0;
  for (bool asked = true; asked; ++at) {
    SharedWorld world;
    world.thread.run([&] { world.objects->page_size = 5; });
    TestProcess process(world);
    // Every lane may be forgotten as soon as it is folded.
    Counters plugin(process.store(), world.clock, Random(1), {.lane_retention = 0s});
    for (int i = 0; i < kAdds; ++i) {
      ASSERT_TRUE(plugin.add("counter-" + std::to_string(i % 3), 1));
    }
    LeaseGuard guard(world.clock, Epoch(1), world.clock.now() + 24h);
    plugin.on_become_coordinator(guard);
    StopAt stop(process, guard, at);
    plugin.coordinator_work(guard);
    asked = stop.in_time();
    LeaseGuard next(world.clock, Epoch(2), world.clock.now() + 24h);
    plugin.on_become_coordinator(next);
    for (int round = 0; round < 3; ++round) plugin.coordinator_work(next);
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
      sum += static_cast<int>(*plugin.consolidated("counter-" + std::to_string(i)));
    }
    EXPECT_EQ(sum, kAdds);
  }
  EXPECT_GT(at, 30u) << "the test shows nothing";
}

TEST_F(StoppingTest, AQueueWithClaimsToSettleReturnsAndLosesNothing) {
  std::uint64_t at = 0;
  for (bool asked = true; asked; ++at) {
    SharedWorld world;
    world.thread.run([&] { world.objects->page_size = 3; });
    QueueMember worker(world, "worker", 1);
    QueueMember leader(world, "leader", 1);
    for (int i = 0; i < 12; ++i) ASSERT_TRUE(worker.plugin.enqueue("x", std::to_string(i)));
    leader.lead();
    for (int i = 0; i < 6; ++i) {
      ASSERT_TRUE(*worker.plugin.run_one([](QueueClaim&) -> Status { return Done{}; }));
    }
    QueueMember next(world, "next", 2);
    StopAt stop(next.process, next.guard, at);
    next.lead();
    asked = stop.in_time();
    QueueMember last(world, "last", 3);
    QueueMember other(world, "other", 3);
    last.lead();
    int ran = 0;
    while (*other.plugin.run_one([](QueueClaim&) -> Status { return Done{}; })) ++ran;
    EXPECT_EQ(ran, 6);
  }
  EXPECT_GT(at, 15u) << "the test shows nothing";
}

TEST_F(StoppingTest, ATtlWithManyExpiredRecordsReturns) {
  std::uint64_t at = 0;
  for (bool asked = true; asked; ++at) {
    SharedWorld world;
    TestProcess process(world);
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(process.store().put("records/" + std::to_string(i), R"({"_expiresAt":1})",
                                      Precondition::absent()));
    }
    TtlOptions options;
    options.prefix = "records/";
    Ttl ttl(process.store(), options, Random(1));
    LeaseGuard guard(world.clock, Epoch(1), world.clock.now() + 24h);
    ttl.attach(world.clock, {});
    ttl.learn_epoch(Epoch(1));
    ttl.on_become_coordinator(guard);
    StopAt stop(process, guard, at);
    ttl.coordinator_work(guard);
    asked = stop.in_time();
  }
  EXPECT_GT(at, 20u) << "the test shows nothing";
}

// A run that was claimed and not started when the stop is asked for is the successor's.
TEST_F(SchedulerTest, AskedToStopAtAnyRequestItReturnsAndEachDueTimeRunsOnce) {
  set_log_sink({});
  int at = 0;
  for (bool asked = true; asked; ++at) {
    Stage stage;
    stage.clock.set_wall(kStart);
    std::vector<WallTime> runs;
    ScheduledJob spec;
    spec.missed = MissedRuns::kRunAll;
    Worker first(stage, 1, runs, spec);
    Worker second(stage, 2, runs, spec);
    const auto term = stage.term(1);
    first.lead(*term);
    stage.clock.set_wall(minute(8));
    int calls = 0;
    first.process.store.hook = [&](const Call&) {
      if (calls++ == at) term->request_stop();
      return Fault::kNone;
    };
    first.work(*term);
    asked = calls > at;
    EXPECT_LE(calls, at + 1 + 2) << "asked to stop at request " << at;
    const auto next = stage.term(2);
    second.lead(*next);
    std::vector<WallTime> expected;
    for (int i = 1; i <= 8; ++i) expected.push_back(minute(i));
    EXPECT_EQ(runs, expected) << "asked to stop at request " << at;
  }
  EXPECT_GT(at, 8) << "the test shows nothing";
}

}  // namespace stopping_test
}  // namespace muster
