// Runs the simulated clusters for many seeds, or replays one; sim_main.h says how.

#include "base/log.h"
#include "tests/sim/cluster/cluster_sim.h"

int main(int argc, char** argv) {
  using namespace muster::sim;
  muster::set_log_sink({});
  return simulate("sim_cluster", argc, argv, {.seeds = 2000}, [](std::uint64_t seed, bool trace) {
    ClusterSimOptions options;
    options.trace = trace;
    return simulate_cluster(seed, options);
  });
}
