#include "elector/election_driver.h"

#include <gtest/gtest.h>

#include "sim/faulty_store.h"
#include "sim/world.h"

namespace muster {
namespace election_driver_test {

// P22: the holder may have renewed at any moment until the store answered, so its lease is counted
// from the answer, however long the request was under way.
TEST(ElectionDriverTest, AnObservationCountsFromTheReplyAndNotFromTheRequest) {
  constexpr Duration kStep = 10ms;
  sim::World world(1);
  sim::Process process(world, 1.0, 0s);
  const auto shared = std::make_shared<sim::SharedStore>();
  sim::FaultyStore store(world, process, shared);
  ElectionConfig config;
  config.id = WorkerId("observer");
  config.incarnation = Incarnation("i");
  ElectionDriver::Options options;
  options.request_timeout = 10s;
  ElectionDriver driver(process, store, config, options, {}, Random(1));
  LeaderState held;
  held.leader = WorkerId("holder");
  held.incarnation = Incarnation("h");
  held.epoch = Epoch(3);
  held.lease = 15s;
  (void)shared->objects->put(driver.keys().state, encode(held), {}, {}, MonoTime());
  // Two seconds there, and two back.
  shared->faults.latency_min = shared->faults.latency_max = 2s;
  process.post([&] { driver.start(); });
  while (!driver.election().last_state() && world.now() < 1min) world.run(world.now() + kStep);
  ASSERT_TRUE(driver.election().last_state());
  EXPECT_GE(driver.election().leader_until(), process.now() - kStep + held.lease);
  process.kill();
}

// R13: what a release leaves behind tells people when that term began.
TEST(ElectionDriverTest, AReleaseKeepsTheTimeOfTheElection) {
  sim::World world(1);
  sim::Process process(world, 1.0, 0s);
  const auto shared = std::make_shared<sim::SharedStore>();
  sim::FaultyStore store(world, process, shared);
  ElectionConfig config;
  config.id = WorkerId("w");
  config.incarnation = Incarnation("i");
  ElectionDriver driver(process, store, config, {}, {}, Random(1));
  const auto state = [&] {
    return *decode_leader_state(shared->objects->entries().at(driver.keys().state).body);
  };
  process.post([&] { driver.start(); });
  world.run(world.now() + 2s);
  ASSERT_TRUE(driver.election().leads(process.now()));
  const WallTime elected_at = state().elected_at;
  EXPECT_EQ(elected_at, state().written_at);
  world.run(world.now() + 20s);
  EXPECT_GT(state().written_at, elected_at);
  EXPECT_EQ(state().elected_at, elected_at);
  process.post([&] { driver.resign({.stop = true, .preferred = {}}); });
  world.run(world.now() + 2s);
  ASSERT_TRUE(state().released);
  EXPECT_EQ(state().elected_at, elected_at);
  process.kill();
}

}  // namespace election_driver_test
}  // namespace muster
