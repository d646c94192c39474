#include <gtest/gtest.h>

#include "base/log.h"
#include "tests/sim/cluster/cluster_sim.h"

namespace muster::sim {
namespace cluster_replay_test {

SimReport run(std::uint64_t seed) {
  ClusterSimOptions options;
  options.trace = true;
  return ClusterSim(seed, options).run();
}

TEST(ClusterSimTest, OneSeedReplaysExactly) {
  set_log_sink({});
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const SimReport first = run(seed);
    const SimReport second = run(seed);
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
    EXPECT_GT(first.trace.size(), 10U);
  }
}

}  // namespace cluster_replay_test
}  // namespace muster::sim
