// What a store's outage costs, with the settings that most people run: the defaults.
#include <gtest/gtest.h>

#include "coordinator/coordinator_test_world.h"

namespace muster {
namespace coordinator_outage_test {

struct OutageTest : ::testing::Test {
  OutageTest() {
    world.add("a");
    world.add("b");
    world.run(30s);
    EXPECT_NE(world.leader(), nullptr);
  }
  /// How long nobody led after the store was well again.
  Duration leaderless() {
    world.shared->faults = {};
    return world.run_until([this] { return world.leader() != nullptr; }, 10min);
  }

  CoordinatorWorld world;
};

// R02: one answer "503, Retry-After: 600" kept everybody away for as long as it said.
TEST_F(OutageTest, AStoreThatAsksForHoursIsAskedAgainAtTheNextHeartbeat) {
  for (const Duration asked : {600s, 3600s}) {
    world.shared->faults.throttled = 1;
    world.shared->faults.retry_after = asked;
    world.run(20s);
    EXPECT_EQ(world.leader(), nullptr);
    EXPECT_LT(leaderless(), world.options.lease_timeout + 2s);
    world.run(30s);
    const char* ids[] = {"a", "b"};
    for (std::size_t i = 0; i < 2; ++i) {
      if (world.nodes[i]->leads()) continue;  // Its renewals say that it is there.
      const char* id = ids[i];
      const auto file = decode_worker(world.body(world.keys.worker(WorkerId(id))));
      ASSERT_TRUE(file);
      const WallTime now = world.nodes[0]->process->wall_now();
      EXPECT_LT(now - file->last_heartbeat, world.options.worker_timeout) << id;
    }
  }
}

// R06: 27.9 s without a leader after the store was back.
TEST_F(OutageTest, AnOpenBreakerCostsAtMostAHeartbeatAfterTheStoreIsBack) {
  world.shared->faults.down = true;
  world.run(40s);
  for (const auto& node : world.nodes) {
    EXPECT_EQ(node->coordinator->metrics().circuit_breaker.state, CircuitState::kOpen);
  }
  EXPECT_LT(leaderless(), world.options.heartbeat_interval + world.options.heartbeat_jitter + 1s);
  world.run(10s);
  for (const auto& node : world.nodes) {
    EXPECT_EQ(node->coordinator->metrics().circuit_breaker.state, CircuitState::kClosed);
    EXPECT_EQ(node->saw<CircuitBreakerEvent>().size(), 2u);
  }
}

// R06: the leader lost its term 17.7 s after the store was back.
TEST(LongLeaseTest, ALeaseThatOutlivesAnOutageIsRenewedAfterIt) {
  CoordinatorWorld world;
  world.options.lease_timeout = 60s;
  world.options.worker_timeout = 90s;
  auto& a = world.add("a");
  world.run(30s);
  ASSERT_TRUE(a.leads());
  world.shared->faults.down = true;
  world.run(35s);
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(a.coordinator->metrics().circuit_breaker.state, CircuitState::kOpen);
  world.shared->faults.down = false;
  world.run(2min);
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(a.coordinator->epoch(), Epoch(1));
  EXPECT_TRUE(a.saw<TermEndedEvent>().empty());
}

// Scenario: Contention detected
// R11: a request ends after 3 s and an attempt after 6 s, so nothing ever took more than 10 s.
TEST_F(OutageTest, ASlowStoreIsContentionAtDefaultSettings) {
  auto& leader = *world.leader();
  auto& follower = *world.nodes[leader.coordinator->worker_id() == WorkerId("a") ? 1 : 0];
  EXPECT_EQ(leader.coordinator->metrics().contention_events, 0u);
  world.shared->faults.latency_min = world.shared->faults.latency_max = 2s;
  world.run_until([&] { return !leader.leads(); }, 1min);
  ASSERT_FALSE(leader.leads());
  ASSERT_EQ(leader.saw<ContentionDetectedEvent>().size(), 1u) << "before the term was lost";
  const ContentionDetectedEvent event = leader.saw<ContentionDetectedEvent>()[0];
  EXPECT_EQ(event.expected, 5s);
  EXPECT_GT(event.duration, 10s);
  EXPECT_GT(event.ratio, 2.0);
  EXPECT_GE(leader.coordinator->metrics().contention_events, 1u);
  world.run(20s);
  EXPECT_EQ(follower.saw<ContentionDetectedEvent>().size(), 1u);
  EXPECT_EQ(leader.saw<ContentionDetectedEvent>().size(), 1u) << "one in 30 s";
  EXPECT_GT(leader.coordinator->metrics().contention_events, 1u) << "all are counted";
}

TEST_F(OutageTest, AStoreThatIsMerelyFarAwayIsNoContention) {
  world.shared->faults.latency_min = world.shared->faults.latency_max = 1s;
  world.run(5min);
  for (const auto& node : world.nodes) {
    EXPECT_EQ(node->coordinator->metrics().contention_events, 0u);
  }
}

// R13: the epoch after 2^52 could not be read by anybody.
TEST_F(OutageTest, AnAbsurdlyHighEpochIsCountedOnFrom) {
  constexpr std::uint64_t kAbsurd = std::uint64_t{1} << 52;
  LeaderState state = world.state();
  state.epoch = Epoch(kAbsurd);
  state.nonce = Nonce("of nobody");
  world.overwrite(world.keys.state, encode(state));
  for (std::uint64_t term = 1; term <= 3; ++term) {
    world.run(1min);
    auto* leader = world.leader();
    ASSERT_NE(leader, nullptr);
    EXPECT_EQ(leader->coordinator->epoch(), Epoch(kAbsurd + term));
    leader->process->post([leader] { leader->coordinator->step_down({}, 1min, [] {}); });
  }
}

// One that could not be followed is damage, and the floor tells where to go on.
TEST_F(OutageTest, AnEpochBeyondAllCountingIsDamage) {
  LeaderState state = world.state();
  for (const std::uint64_t epoch : {(std::uint64_t{1} << 53) - 1, std::uint64_t{1} << 53}) {
    const Epoch before = world.state().epoch;
    state.epoch = Epoch(epoch);
    state.nonce = Nonce("of nobody");
    world.overwrite(world.keys.state, encode(state));
    world.run(2min);
    ASSERT_NE(world.leader(), nullptr);
    EXPECT_GT(world.state().epoch, before);
    EXPECT_LT(world.state().epoch, Epoch(before.value() + 10));
  }
}

/// The lines about the store that are logged while it lives.
struct Lines {
  Lines() {
    set_log_sink([this](const LogLine& line) {
      if (line.message == "store request failed") lines.push_back(line.fields);
    });
  }
  ~Lines() { set_log_sink({}); }
  [[nodiscard]] static std::string field(const LogLine::Fields& line, std::string_view name) {
    for (const auto& [key, value] : line) {
      if (key == name) return value;
    }
    return "";
  }
  std::vector<LogLine::Fields> lines;
};

// R22: 192 lines in 30 s.
TEST(OutageLogTest, AnOutageIsAFewLinesAndTheyCountWhatWasLeftOut) {
  Lines log;
  CoordinatorWorld world;
  world.add("a");
  world.run(10s);
  world.shared->faults.error_before = 1;
  world.run(29s);
  // A write that may have landed is one kind, a read that failed another.
  ASSERT_EQ(log.lines.size(), 2u);
  EXPECT_EQ(Lines::field(log.lines[0], "message"), "the store answered 500");
  EXPECT_EQ(Lines::field(log.lines[0], "left_out"), "");
  world.run(60s);
  EXPECT_LE(log.lines.size(), 8u);
  EXPECT_NE(Lines::field(log.lines.back(), "left_out"), "");
}

TEST(OutageLogTest, AProbeThatMeetsAMistakeSaysItOnceAndBacksOff) {
  Lines log;
  CoordinatorWorld world;
  int probes = 0;
  bool mended = false;
  auto& a = world.add("a", [&](const Callback<Done>& done) {
    ++probes;
    done(mended ? Status(Done{}) : Status(Errc::kDenied, "the credentials do not allow this"));
  });
  world.run(1min);
  EXPECT_EQ(probes, 4) << "at 0, 5, 15 and 35 s";
  ASSERT_GE(log.lines.size(), 1u);
  EXPECT_LE(log.lines.size(), 2u);
  EXPECT_EQ(Lines::field(log.lines[0], "message"), "the credentials do not allow this");
  mended = true;
  world.run(35s);
  EXPECT_TRUE(a.leads());
}

}  // namespace coordinator_outage_test
}  // namespace muster
