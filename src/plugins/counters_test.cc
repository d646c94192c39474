#include "plugins/counters.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/log.h"
#include "elector/testing.h"

namespace muster {
namespace counters_test {

using testing::Fault;
using testing::SharedWorld;
using testing::TestProcess;

constexpr char kCounter[] = "visits";
constexpr char kDeltas[] = "plugin=counters/namespace=default/deltas/";

/// One process with its plugin and, when it leads, its term.
struct Member {
  Member(SharedWorld& shared, std::uint64_t epoch)
      : process(shared),
        plugin(process.store(), shared.clock, Random(epoch * 1000 + 1), {}),
        guard(shared.clock, Epoch(epoch), shared.clock.now() + 24h) {
    plugin.on_become_coordinator(guard);
  }
  void fold() { plugin.coordinator_work(guard); }

  TestProcess process;
  Counters plugin;
  LeaseGuard guard;
};

struct CountersTest : ::testing::Test {
  CountersTest() { set_log_sink({}); }
  SharedWorld world;
};

TEST_F(CountersTest, AddsAreReadAtOnceAndConsolidatedByTheLeader) {
  Member worker(world, 1);
  Member leader(world, 2);
  ASSERT_TRUE(worker.plugin.add(kCounter, 5));
  ASSERT_TRUE(worker.plugin.add(kCounter, -2));
  ASSERT_TRUE(leader.plugin.add("other", 9));
  EXPECT_EQ(*worker.plugin.read(kCounter), 3);
  EXPECT_EQ(*worker.plugin.consolidated(kCounter), 0);
  leader.fold();
  EXPECT_EQ(*worker.plugin.consolidated(kCounter), 3);
  EXPECT_EQ(*worker.plugin.read(kCounter), 3);
  EXPECT_EQ(*worker.plugin.consolidated("other"), 9);
  EXPECT_EQ(world.count(kDeltas), 0u);
}

TEST_F(CountersTest, FoldsEveryPageAcrossRounds) {
  world.thread.run([&] { world.objects->page_size = 3; });
  Member leader(world, 1);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(leader.plugin.add(kCounter, 1));
  for (int round = 0; round < 4; ++round) leader.fold();
  EXPECT_EQ(*leader.plugin.consolidated(kCounter), 40);
  EXPECT_EQ(world.count(kDeltas), 0u);
}

TEST_F(CountersTest, AnIdleLeaderAsksOnce) {
  Member leader(world, 1);
  const auto before = leader.process.calls();
  leader.fold();
  EXPECT_EQ(leader.process.calls(), before + 1);
}

TEST_F(CountersTest, BadNamesAndOverflowAreRefused) {
  Member leader(world, 1);
  EXPECT_TRUE(leader.plugin.add("a/b", 1).is(Errc::kInvalid));
  EXPECT_TRUE(leader.plugin.read("").is(Errc::kInvalid));
  ASSERT_TRUE(leader.plugin.add(kCounter, INT64_MAX));
  ASSERT_TRUE(leader.plugin.add(kCounter, 1));
  leader.fold();
  EXPECT_EQ(world.count(kDeltas), 2u);
  EXPECT_TRUE(leader.plugin.read(kCounter).is(Errc::kInvalid));
}

TEST_F(CountersTest, ALeaderThatDiesAtAnyCallLosesAndDoublesNothing) {
  for (const bool after : {false, true}) {
    for (std::uint64_t at = 0;; ++at) {
      SharedWorld fresh;
      Member worker(fresh, 1);
      for (int i = 1; i <= 4; ++i) ASSERT_TRUE(worker.plugin.add(kCounter, i));
      {
        Member dying(fresh, 2);
        dying.process.crash_at(at, after);
        dying.fold();
        if (dying.process.calls() <= at) {
          ASSERT_GT(at, 5u);
          break;
        }
      }
      EXPECT_EQ(*worker.plugin.read(kCounter), 10) << "call " << at;
      ASSERT_TRUE(worker.plugin.add(kCounter, 100));
      Member successor(fresh, 3);
      successor.fold();
      EXPECT_EQ(*worker.plugin.consolidated(kCounter), 110) << "call " << at;
      EXPECT_EQ(fresh.count(kDeltas), 0u) << "call " << at;
    }
  }
}

TEST_F(CountersTest, AnAdderThatDiesAtAnyCallCountsOnceOrNotAtAll) {
  for (const bool after : {false, true}) {
    for (std::uint64_t at = 0; at < 3; ++at) {
      SharedWorld fresh;
      Member dying(fresh, 1);
      dying.process.crash_at(at, after);
      const Status added = dying.plugin.add(kCounter, 7);
      Member leader(fresh, 2);
      leader.fold();
      const auto value = *leader.plugin.consolidated(kCounter);
      EXPECT_TRUE(value == 7 || (value == 0 && !added)) << value;
    }
  }
}

// E6: what was added once counts once, whatever the way to the store did with the request.
TEST_F(CountersTest, AnAddWhoseReplyWasLostCountsOnce) {
  for (const Fault fault : {Fault::kReplyLost, Fault::kRequestLost, Fault::kResent}) {
    SharedWorld fresh;
    Member worker(fresh, 1);
    worker.process.set_script(
        [=](std::uint64_t call, bool) { return call == 0 ? fault : Fault::kNone; });
    EXPECT_TRUE(worker.plugin.add(kCounter, 7));
    Member leader(fresh, 2);
    leader.fold();
    EXPECT_EQ(*leader.plugin.consolidated(kCounter), 7);
  }
}

// The one that was said to have failed is there, and the next one is another.
TEST_F(CountersTest, AnAddThatLandedThoughItWasThrottledDoesNotSwallowTheNext) {
  Member worker(world, 1);
  Member leader(world, 2);
  worker.process.set_script(
      [](std::uint64_t call, bool) { return call == 0 ? Fault::kThrottled : Fault::kNone; });
  EXPECT_TRUE(worker.plugin.add(kCounter, 5).is(Errc::kThrottled));
  EXPECT_TRUE(worker.plugin.add(kCounter, 7));
  leader.fold();
  EXPECT_EQ(*leader.plugin.consolidated(kCounter), 12);
}

// P21: a copy of an add that arrives after the add was folded and removed is void.
TEST_F(CountersTest, ACopyThatArrivesAfterTheFoldDoesNotCountAgain) {
  Member worker(world, 1);
  Member leader(world, 2);
  worker.process.set_script(
      [](std::uint64_t call, bool) { return call == 0 ? Fault::kLate : Fault::kNone; });
  ASSERT_TRUE(worker.plugin.add(kCounter, 7));
  leader.fold();
  ASSERT_EQ(world.count(kDeltas), 0u);
  worker.process.land_late();
  EXPECT_EQ(world.count(kDeltas), 1u);
  EXPECT_EQ(*leader.plugin.read(kCounter), 7);
  leader.fold();
  EXPECT_EQ(*leader.plugin.consolidated(kCounter), 7);
  EXPECT_EQ(world.count(kDeltas), 0u);
}

TEST_F(CountersTest, AStaleLeadersFoldThatArrivesLateChangesNothing) {
  Member old_leader(world, 1);
  Member new_leader(world, 2);
  ASSERT_TRUE(new_leader.plugin.add(kCounter, 7));
  old_leader.process.set_script(
      [](std::uint64_t, bool writes) { return writes ? Fault::kLate : Fault::kNone; });
  old_leader.fold();
  new_leader.fold();
  old_leader.process.land_late();
  ASSERT_TRUE(new_leader.plugin.add(kCounter, 1));
  new_leader.fold();
  EXPECT_EQ(*new_leader.plugin.consolidated(kCounter), 8);
}

// S08: the total refuses the epoch of a replaced leader.
TEST_F(CountersTest, ALowerEpochThanTheTotalsIsRefused) {
  Member old_leader(world, 1);
  Member new_leader(world, 2);
  ASSERT_TRUE(new_leader.plugin.add(kCounter, 7));
  new_leader.fold();
  ASSERT_TRUE(new_leader.plugin.add(kCounter, 1));
  old_leader.fold();
  EXPECT_EQ(*new_leader.plugin.consolidated(kCounter), 7);
  EXPECT_EQ(*new_leader.plugin.read(kCounter), 8);
  EXPECT_EQ(old_leader.plugin.epoch_drift_events(), 1u);
}

TEST_F(CountersTest, AClosedGuardWritesNothing) {
  Member leader(world, 1);
  ASSERT_TRUE(leader.plugin.add(kCounter, 7));
  leader.guard.close();
  leader.fold();
  EXPECT_EQ(*leader.plugin.consolidated(kCounter), 0);
  EXPECT_EQ(world.count(kDeltas), 1u);
}

TEST_F(CountersTest, SilentLanesAreForgottenAndNotUsedAgain) {
  Member worker(world, 1);
  Member leader(world, 2);
  ASSERT_TRUE(worker.plugin.add(kCounter, 1));
  leader.fold();
  world.clock.advance(61min);
  ASSERT_TRUE(worker.plugin.add(kCounter, 1));
  leader.fold();
  const auto total = counters::decode_total(
      leader.process.store().get(counters::Keys("default").total(kCounter))->body);
  ASSERT_TRUE(total);
  EXPECT_EQ(total->lanes.size(), 1u);
  EXPECT_EQ(total->value, 2);
}

// However often the leader changes: each goes on from what those before it have seen.
TEST_F(CountersTest, SilentLanesAreForgottenAcrossTerms) {
  Member gone(world, 1);
  Member worker(world, 9);
  ASSERT_TRUE(gone.plugin.add(kCounter, 1));
  const auto lanes = [&](Member& leader) {
    EXPECT_TRUE(worker.plugin.add(kCounter, 1));
    leader.fold();
    return counters::decode_total(
               leader.process.store().get(counters::Keys("default").total(kCounter))->body)
        ->lanes.size();
  };
  for (std::uint64_t epoch = 2; epoch < 5; ++epoch) {
    Member leader(world, epoch);
    EXPECT_EQ(lanes(leader), 2u) << epoch;
    world.clock.advance(20min);
    EXPECT_EQ(lanes(leader), epoch < 4 ? 2u : 1u) << epoch;
  }
}

// A late copy must not make a forgotten lane count from its beginning.
TEST_F(CountersTest, ALaneIsRememberedWhileACopyOfItIsThere) {
  Member worker(world, 1);
  Member leader(world, 2);
  ASSERT_TRUE(worker.plugin.add(kCounter, 1));
  const auto removals_fail = [](std::uint64_t call, bool writes) {
    return writes && call > 2 ? Fault::kUnavailable : Fault::kNone;
  };
  leader.process.set_script(removals_fail);
  leader.fold();
  ASSERT_EQ(world.count(kDeltas), 1u);
  leader.process.set_script({});
  world.clock.advance(61min);
  for (int round = 0; round < 3; ++round) leader.fold();
  EXPECT_EQ(*leader.plugin.read(kCounter), 1);
}

TEST_F(CountersTest, ReadIsExactWhileTheLeaderFoldsAndManyAdd) {
  Member leader(world, 1);
  Member worker(world, 2);
  std::atomic<bool> stop{false};
  std::thread folding([&] {
    while (!stop) leader.fold();
  });
  std::vector<std::thread> adding;
  for (int t = 0; t < 3; ++t) {
    adding.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(worker.plugin.add(kCounter, 1));
    });
  }
  std::int64_t last = 0;
  for (int i = 0; i < 50; ++i) {
    const auto value = worker.plugin.read(kCounter);
    if (value.is(Errc::kUnavailable)) continue;
    EXPECT_GE(*value, last);
    last = *value;
  }
  for (std::thread& thread : adding) thread.join();
  stop = true;
  folding.join();
  leader.fold();
  EXPECT_EQ(*worker.plugin.consolidated(kCounter), 150);
}

// Each add has a bit of its own: a lost one is a bit that is missing, a doubled one a carry.
TEST_F(CountersTest, EveryAddCountsOnceUnderRandomFaultsAndCrashes) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SharedWorld fresh;
    auto random = std::make_shared<Random>(seed);
    const auto bad = [random](std::uint64_t, bool) {
      const auto pick = random->below(20);
      return pick < 7 ? static_cast<Fault>(pick) : Fault::kNone;
    };
    Member worker(fresh, 1);
    worker.process.set_script(bad);
    std::int64_t counted = 0;
    std::int64_t perhaps = 0;
    std::uint64_t epoch = 2;
    auto leader = std::make_unique<Member>(fresh, epoch);
    leader->process.set_script(bad);
    for (int bit = 0; bit < 40; ++bit) {
      const std::int64_t amount = std::int64_t{1} << bit;
      const Status added = worker.plugin.add(kCounter, amount);
      if (added) counted |= amount;
      if (added.is(Errc::kAmbiguous) || added.is(Errc::kThrottled)) perhaps |= amount;
      if (random->chance(0.4)) leader->fold();
      if (random->chance(0.2)) worker.process.land_late();
      if (random->chance(0.2)) {
        leader->process.land_late();
        leader = std::make_unique<Member>(fresh, ++epoch);
        leader->process.set_script(bad);
      }
    }
    worker.process.land_late();
    Member last(fresh, ++epoch);
    last.fold();
    const std::int64_t value = *last.plugin.consolidated(kCounter);
    EXPECT_EQ(value & ~perhaps, counted);
    EXPECT_EQ(*last.plugin.read(kCounter), value);
    EXPECT_EQ(fresh.count(kDeltas), 0u);
  }
}

}  // namespace counters_test
}  // namespace muster
