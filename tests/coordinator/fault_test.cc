// Real workers as real processes on real stores, and what happens to them in production: wrong
// clocks, one id given twice, a leader that sleeps, a state that someone else wrote, a crowd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/hub.h"
#include "core/election/records.h"
#include "platform/system_clock.h"
#include "tests/coordinator/fleet.h"
#include "tests/coordinator/stores.h"

namespace muster {
namespace fault_test {

using ::testing::IsEmpty;
using Json = nlohmann::json;

class FleetFaultTest : public ::testing::TestWithParam<std::string> {
 protected:
  void TearDown() override {
    EXPECT_THAT(contradictions(fleet().beliefs()), IsEmpty());
    EXPECT_THAT(contradictions(fleet().accepted_writes()), IsEmpty());
  }

  Fleet& fleet(const Json& options = quick_options()) {
    if (!fleet_) fleet_ = std::make_unique<Fleet>(fresh_store(GetParam()), options);
    return *fleet_;
  }
  /// The store of the fleet, for what an intruder does to it.
  SyncStore& store() {
    if (!hub_) hub_ = Hub::open(fleet().url()).value();
    return hub_->store();
  }

  const NamespaceKeys keys_{Fleet::kNamespace};

 private:
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Fleet> fleet_;
};

INSTANTIATE_TEST_SUITE_P(Stores, FleetFaultTest, ::testing::ValuesIn(store_kinds()),
                         [](const auto& store) { return store.param; });

/// A wall clock that is wrong by so many seconds, in a process whose boot clock is right.
std::vector<std::string> wall_clock(const std::string& seconds) {
  return {"LD_PRELOAD=" JUMPING_CLOCK, "JUMP=" + seconds, "JUMP_AFTER=0",
          "ASAN_OPTIONS=verify_asan_link_order=0"};
}

// S10, S03: an hour of skew in either direction takes leadership from nobody, and does not keep a
// worker from taking over when its time has come; S3's signatures survive it, too.
TEST_P(FleetFaultTest, ClocksThatAreWrongByAnHourChangeNothing) {
  // Takes about 10 s: nobody may begin to lead in 5 s, longer than the lease of 4 s, which then
  // runs out once more after the kill.
  fleet(quick_options({{"leaseTimeout", 4000}})).start("right");
  ASSERT_EQ(fleet().wait_for_leader(), "right");
  Worker& fast = fleet().start("a-fast", "a-fast", wall_clock("3600"));
  Worker& slow = fleet().start("b-slow", "b-slow", wall_clock("-3600"));
  const auto follows = [](const WorkerLog& log) { return log.leader == "right"; };
  ASSERT_TRUE(fast.eventually(follows));
  ASSERT_TRUE(slow.eventually(follows));
  const auto skew = [](Worker& worker) {
    const Json hello = worker.log().hello;
    const auto boot_ms = hello.at("boot").get<std::int64_t>() / 1'000'000;
    const auto expected = to_ms(system_wall_now()) - to_ms(boot_now().time_since_epoch());
    return Duration(
        std::chrono::milliseconds(hello.at("wall").get<std::int64_t>() - boot_ms - expected));
  };
  ASSERT_GT(skew(fast), 59min);
  ASSERT_LT(skew(slow), -59min);
  // More than a lease of either of them, and of ours.
  let_pass(5s);
  EXPECT_EQ(fleet().leader(), "right");
  EXPECT_EQ(fleet().epoch(), 1u) << "nobody led in between";
  fleet().kill("right");
  EXPECT_THAT(fleet().wait_for_leader(1), ::testing::AnyOf("a-fast", "b-slow"));
}

// S05: one of two processes with one id leads, and the mistake is reported.
TEST_P(FleetFaultTest, TwoProcessesWithOneIdAreFoundOutAndOneLeads) {
  fleet().start("first", "twin");
  fleet().start("second", "twin");
  const std::string leader = fleet().wait_for_leader();
  ASSERT_NE(leader, "");
  const std::string other = leader == "first" ? "second" : "first";
  EXPECT_TRUE(eventually([&] {
    return fleet().at("first").log().count("trouble", "duplicate-worker") +
               fleet().at("second").log().count("trouble", "duplicate-worker") >
           0;
  }));
  const std::uint64_t epoch = fleet().epoch();
  fleet().kill(leader);
  EXPECT_EQ(fleet().wait_for_leader(epoch), other);
}

// S04, S07, P18: a leader that slept through its lease wakes up as nobody, and what it had in
// hand is refused where it arrives.
TEST_P(FleetFaultTest, ALeaderFrozenPastItsLeaseIsRefusedAtTheFencedResource) {
  for (const char* id : {"a", "b", "c"}) fleet().start(id);
  const std::string old_leader = fleet().wait_for_leader();
  ASSERT_NE(old_leader, "");
  Worker& sleeper = fleet().at(old_leader);
  const auto wrote = [](const WorkerLog& log) {
    return std::any_of(log.writes.begin(), log.writes.end(),
                       [](const WorkerLog::Write& write) { return write.outcome == "ok"; });
  };
  ASSERT_TRUE(sleeper.eventually(wrote));
  sleeper.freeze();
  const std::uint64_t old_epoch = fleet().epoch();
  const std::string new_leader = fleet().wait_for_leader(old_epoch);
  ASSERT_NE(new_leader, "");
  ASSERT_TRUE(fleet().at(new_leader).eventually([&](const WorkerLog& log) {
    return std::any_of(log.writes.begin(), log.writes.end(), [&](const WorkerLog::Write& write) {
      return write.outcome == "ok" && write.claim.epoch > old_epoch;
    });
  }));

  const MonoTime woken = boot_now();
  const std::size_t writes = sleeper.log().writes.size();
  sleeper.thaw();
  sleeper.tell("write");
  ASSERT_TRUE(sleeper.eventually([&](const WorkerLog& log) { return log.writes.size() > writes; }));
  const WorkerLog log = sleeper.log();
  for (std::size_t i = writes; i < log.writes.size(); ++i) {
    // A write that was under way when it froze may be settled only now.
    if (log.writes[i].claim.from < woken) continue;
    EXPECT_EQ(log.writes[i].outcome, to_string(Errc::kDenied));
  }
  EXPECT_TRUE(eventually([&] {
    const WorkerLog now = sleeper.log();
    return now.count("term:ended") == 1 && now.leader == new_leader;
  }));
  for (const Claim& claim : sleeper.log().beliefs) {
    EXPECT_LT(claim.from, woken) << "it believed to lead after it woke up";
  }
}

struct ForeignState {
  const char* what;
  std::string body;
  bool damaged;  ///< No state at all, as opposed to one that someone else may write.
};

std::vector<ForeignState> foreign_states() {
  const auto now = to_ms(system_wall_now());
  const Json lower = {{"leaderId", "gcs-stranger-1"},
                      {"epoch", 1},
                      {"leaseStart", now},
                      {"leaseEnd", now + 1000},
                      {"electedAt", now}};
  const Json words = {{"leaderId", "a"}, {"epoch", "7"}, {"leaseEnd", now + 1000}};
  return {{"half a JSON document", R"({"leaderId":"a","epo)", true},
          {"an epoch in quotes", words.dump(), true},
          {"bytes", std::string("\0\xff\xfe\x01", 4), true},
          {"nothing", "", true},
          {"a lower epoch of a stranger", lower.dump(), true}};
}

// S18, S02, S09: whatever stands in state.json, there is a leader again, above every epoch before.
TEST_P(FleetFaultTest, AStateThatIsCorruptOrForeignIsReportedAndOvercome) {
  // Takes up to 13 s: five states and a removal, each of which ends a term, so that a lease of 1.5
  // s must run out before the next one.
  for (const char* id : {"a", "b"}) fleet().start(id);
  ASSERT_NE(fleet().wait_for_leader(), "");
  const auto reports = [&] {
    return fleet().at("a").log().count("trouble", "state-damaged") +
           fleet().at("b").log().count("trouble", "state-damaged");
  };
  for (const ForeignState& foreign : foreign_states()) {
    SCOPED_TRACE(foreign.what);
    const std::uint64_t epoch = fleet().epoch();
    const std::size_t before = reports();
    // radosgw answers that an unconditional write was done that has lost against a renewal.
    ASSERT_TRUE(eventually([&] {
      const auto written = store().put(keys_.state, foreign.body, Precondition::none());
      if (!written) return false;
      const auto seen = store().get(keys_.state);
      return seen && (seen->body == foreign.body || fleet().epoch() > epoch);
    }));
    ASSERT_NE(fleet().wait_for_leader(epoch), "");
    EXPECT_TRUE(eventually([&] { return reports() > before; }));
  }
  const std::uint64_t epoch = fleet().epoch();
  ASSERT_TRUE(store().remove(keys_.state));
  EXPECT_NE(fleet().wait_for_leader(epoch), "") << "after it was removed";
}

// S14, S19: three pages of workers, every one of which sorts before the living, and still a
// leader at once, who knows them all.
TEST_P(FleetFaultTest, AmongTwoThousandFiveHundredWorkersALeaderIsFoundAndAllAreListed) {
  constexpr int kGhosts = 2500;
  std::vector<std::thread> writers;
  std::atomic<int> failures{0};
  SyncStore& ghosts = store();
  for (int first = 0; first < 8; ++first) {
    writers.emplace_back([&, first] {
      for (int i = first; i < kGhosts; i += 8) {
        const std::string id = "ghost-" + std::to_string(10000 + i);
        const Json body = {{"workerId", id}, {"lastHeartbeat", to_ms(system_wall_now())}};
        if (!ghosts.put(keys_.worker(WorkerId(id)), body.dump(), Precondition::absent())) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  ASSERT_EQ(failures, 0);

  Fleet living(fleet().url(), quick_options({{"workerTimeout", 120'000}}));
  for (const char* id : {"y", "z"}) living.start(id);
  const std::string leader = living.wait_for_leader();
  ASSERT_NE(leader, "");
  EXPECT_TRUE(eventually([&] {
    // Asked of both: the leader has listed them, the other has read what it published.
    const auto knows_all = [&](const char* id) {
      Worker& worker = living.at(id);
      const std::size_t before = worker.log().answers.size();
      worker.tell("workers");
      const auto answered = [&](const WorkerLog& log) { return log.answers.size() > before; };
      return worker.eventually(answered) &&
             worker.log().answers.back().at("workers") == kGhosts + 2;
    };
    return knows_all("y") && knows_all("z");
  }));
  EXPECT_THAT(contradictions(living.beliefs()), IsEmpty());
}

}  // namespace fault_test
}  // namespace muster
