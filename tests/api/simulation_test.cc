#include "tests/api/scene.h"

#include <muster/sim.h>

#include <gmock/gmock.h>

#include <map>
#include <sstream>
#include <stdexcept>

namespace api_test {
namespace {

using muster::SimulatedProcess;
using muster::SimulatedWork;
using muster::Simulation;
using muster::SimulationOptions;
using ::testing::HasSubstr;

/// Three processes on a bad store, of which one after another is frozen, cut off, crashed and
/// started again. Returns what happened, line by line.
std::string history(std::uint64_t seed, double badness, std::size_t* most_leaders = nullptr) {
  SimulationOptions options;
  options.seed = seed;
  options.badness = badness;
  Simulation world(options);
  std::ostringstream said;
  SimulatedWork work;
  const auto say = [&](const char* what, const SimulatedProcess& process) {
    said << world.now() / 1ms << " " << process.id() << " " << what << " " << process.token()
         << "\n";
  };
  work.on_start = [&](const SimulatedProcess& process) { say("leads", process); };
  work.on_stop = [&](const SimulatedProcess& process) { say("stops", process); };
  for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(world.add(id, work).ok());
  for (auto when = 20s; when < 600s; when += 20s) {
    world.at(when, [&] {
      const auto unlucky = world.processes()[world.random(3)];
      switch (world.random(4)) {
        case 0:
          return unlucky.freeze(std::chrono::milliseconds(world.random(20'000)));
        case 1:
          return unlucky.cut_off(world.random(2) == 0);
        case 2:
          return unlucky.crash();
        default:
          return unlucky.restart();
      }
    });
  }
  world.run_until(
      [&] {
        if (most_leaders) *most_leaders = std::max(*most_leaders, world.leaders().size());
        return false;
      },
      700s);
  return said.str();
}

TEST(SimulationTest, ASeedRepeatsARunExactly) {
  const std::string once = history(7, 0.3);
  EXPECT_GT(std::count(once.begin(), once.end(), '\n'), 5);
  EXPECT_EQ(once, history(7, 0.3));
  EXPECT_NE(once, history(8, 0.3));
}

TEST(SimulationTest, AtMostOneProcessLeadsWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::size_t most = 0;
    history(seed, 0.3, &most);
    EXPECT_EQ(most, 1u) << seed;
  }
}

TEST(SimulationTest, ACrashedLeaderIsReplacedAfterItsLeaseAndAStoppedOneAtOnce) {
  Simulation world;
  for (const char* id : {"a", "b"}) ASSERT_TRUE(world.add(id).ok());
  const auto someone = [&] { return world.leaders().size() == 1; };
  ASSERT_TRUE(world.run_until(someone, 60s));
  SimulatedProcess first = world.leaders().front();
  EXPECT_EQ(first.token(), 1u);
  const auto crashed = world.now();
  first.crash();
  EXPECT_FALSE(first.alive());
  EXPECT_FALSE(first.leads());
  EXPECT_EQ(first.token(), 0u);
  ASSERT_TRUE(world.run_until(someone, 60s));
  EXPECT_GT(world.now() - crashed, 4s);
  EXPECT_LT(world.now() - crashed, 15s);
  SimulatedProcess second = world.leaders().front();
  EXPECT_NE(second.id(), first.id());
  EXPECT_EQ(second.token(), 2u);

  first.restart();
  world.run_for(30s);
  EXPECT_TRUE(first.alive());
  EXPECT_TRUE(second.leads());
  const auto stopped = world.now();
  second.stop();
  ASSERT_TRUE(world.run_until([&] { return first.leads(); }, 60s));
  EXPECT_FALSE(second.alive());
  EXPECT_LT(world.now() - stopped, 4s);
}

TEST(SimulationTest, AFrozenProcessRunsNothingAndItsTermEnds) {
  Simulation world;
  int steps = 0;
  SimulatedWork work;
  work.step = [&](const SimulatedProcess& me) {
    ++steps;
    EXPECT_TRUE(me.leads());
  };
  const auto process = world.add("a", work).value();
  ASSERT_TRUE(world.run_until([&] { return steps == 3; }, 60s));
  process.freeze(20s);
  world.run_for(19s);
  EXPECT_EQ(steps, 3);
  EXPECT_FALSE(process.leads());
  ASSERT_TRUE(world.run_until([&] { return steps > 3; }, 60s));
  EXPECT_EQ(process.token(), 2u);
}

TEST(SimulationTest, AProcessThatIsCutOffGivesUpItsTermAndCannotReadOrWrite) {
  Simulation world;
  int stops = 0;
  SimulatedWork work;
  work.on_stop = [&](const SimulatedProcess&) { ++stops; };
  const auto process = world.add("a", work).value();
  ASSERT_TRUE(world.run_until([&] { return process.leads(); }, 60s));
  process.cut_off();
  std::vector<Code> codes;
  process.get("key", [&](const auto& found) { codes.push_back(found.code()); });
  process.put("key", "body", {}, [&](const auto& made) { codes.push_back(made.code()); });
  world.run_for(10s);
  EXPECT_EQ(codes, (std::vector<Code>{Code::kUnavailable, Code::kAmbiguous}));
  EXPECT_FALSE(process.leads());
  EXPECT_EQ(stops, 1);
  process.cut_off(false);
  EXPECT_TRUE(world.run_until([&] { return process.leads(); }, 60s));
}

TEST(SimulationTest, WorkReadsAndWritesTheStoreUnderConditions) {
  Simulation world;
  const auto process = world.add("a").value();
  std::string revision;
  process.put("key", "body", {muster::WriteCondition::Kind::kAbsent, {}},
              [&](const auto& made) { revision = made.value(); });
  world.run_for(1s);
  ASSERT_NE(revision, "");
  Code again{};
  process.put("key", "other", {muster::WriteCondition::Kind::kAbsent, {}},
              [&](const auto& made) { again = made.code(); });
  muster::StoredObject found;
  process.get("key", [&](const auto& read) { found = read.value(); });
  world.run_for(1s);
  EXPECT_EQ(again, Code::kConflict);
  EXPECT_EQ(found.body, "body");
  EXPECT_EQ(found.revision, revision);
}

TEST(SimulationTest, ClocksRunAtRatesOfTheirOwn) {
  Simulation world;
  std::vector<std::chrono::nanoseconds> rang;
  for (const char* id : {"a", "b", "c"})
    world.add(id).value().after(100s, [&] { rang.push_back(world.now()); });
  world.run_for(110s);
  ASSERT_EQ(rang.size(), 3u);
  EXPECT_GT(rang.front(), 92s);
  EXPECT_NE(rang[0], rang[1]);
  EXPECT_NE(rang[1], rang[2]);
}

TEST(SimulationTest, TasksOfACrashedProcessDoNotRun) {
  Simulation world;
  const auto process = world.add("a").value();
  int ran = 0;
  process.after(1s, [&] { ++ran; });
  world.run_for(2s);
  EXPECT_EQ(ran, 1);
  process.after(1s, [&] { ++ran; });
  process.crash();
  process.after(1s, [&] { ++ran; });
  world.run_for(5s);
  EXPECT_EQ(ran, 1);
}

TEST(SimulationTest, MistakesAreErrorsAndWhatTheTestThrowsIsThrown) {
  Simulation world;
  ASSERT_TRUE(world.add("a").ok());
  EXPECT_THAT(world.add("a").message(), HasSubstr("there is a simulated process a already"));
  EXPECT_TRUE(world.add("").is(Code::kInvalid));
  EXPECT_TRUE(world.add("b/c").is(Code::kInvalid));
  SimulationOptions quick;
  quick.lease = 50ms;
  EXPECT_THAT(Simulation(quick).add("a").message(), HasSubstr("at least 100ms"));
  world.at(1s, [&] { world.run_for(1s); });
  EXPECT_THROW(world.run_for(5s), std::logic_error);
  EXPECT_EQ(world.now(), 1s);
  world.at(2s, [] { throw std::runtime_error("a charge came twice"); });
  EXPECT_THROW(world.run_for(5s), std::runtime_error);
  world.run_for(5s);
  EXPECT_EQ(world.now(), 7s);
  EXPECT_EQ(world.random(0), 0u);
}

TEST(SimulationTest, AHandleThatOutlivesItsSimulationIsDead) {
  std::optional<SimulatedProcess> process;
  {
    Simulation world;
    process = world.add("a").value();
    world.run_for(30s);
    EXPECT_TRUE(process->leads());
  }
  EXPECT_FALSE(process->alive());
  EXPECT_FALSE(process->leads());
  EXPECT_EQ(process->token(), 0u);
  process->restart();
  process->freeze(1s);
  process->get("key", [](const auto&) { FAIL(); });
}

}  // namespace
}  // namespace api_test
