// One server after another killed with its engine while clients write.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/server/managed_scene.h"

namespace muster::testing {
namespace kill_cycles_test {

class KillCycleTest : public ManagedScene {};

// T03.
TEST_F(KillCycleTest, EveryAcknowledgedWriteIsOnEveryServer) {
  // Takes about 80 s: 40 cycles (MUSTER_KILL_CYCLES), each of which kills a server with its etcd
  // and waits until another leads after the lease of 2 s, or until it is back.
  const char* wanted = std::getenv("MUSTER_KILL_CYCLES");
  const int cycles = wanted == nullptr ? 40 : std::atoi(wanted);
  ASSERT_GT(cycles, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    add(i, {"--peers", peers(3), "--snapshot-entries", "200"}, false);
  }
  for (Musterd* each : all()) each->await(60s);
  std::vector<std::unique_ptr<Writer>> writers;
  for (const char* name : {"a", "b", "c"}) writers.push_back(std::make_unique<Writer>(name, all()));
  for (int cycle = 0; cycle < cycles; ++cycle) {
    ASSERT_TRUE(writers[0]->more(10)) << "in cycle " << cycle;
    Musterd* victim = leader_of(all(), 60s);
    ASSERT_NE(victim, nullptr) << "nobody leads in cycle " << cycle;
    // Every third time it is not the leader that goes.
    if (cycle % 3 == 2) victim = others({victim}).front();
    victim->kill();
    // In every other cycle the rest must do without it for a while.
    if (cycle % 2 == 0) {
      ASSERT_TRUE(writers[1]->more(5)) << "in cycle " << cycle;
    }
    victim->start(60s);
  }
  std::vector<std::string> keys;
  for (const auto& each : writers) {
    const auto& acknowledged = each->finish();
    keys.insert(keys.end(), acknowledged.begin(), acknowledged.end());
  }
  RecordProperty("acknowledged", std::to_string(keys.size()));
  EXPECT_GT(keys.size(), 100U);
  expect_all(all(), keys);
}

}  // namespace kill_cycles_test
}  // namespace muster::testing
