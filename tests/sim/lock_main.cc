// Runs the simulated takers of a lock for many seeds, or replays one; sim_main.h says how.

#include "base/log.h"
#include "tests/sim/lock_sim.h"

int main(int argc, char** argv) {
  using namespace muster::sim;
  muster::set_log_sink({});
  return simulate("sim_lock", argc, argv, {.seeds = 1000}, [](std::uint64_t seed, bool trace) {
    LockSimOptions options;
    options.trace = trace;
    return LockSim(seed, options).run();
  });
}
