// Runs the simulated log for many seeds, or replays one; sim_main.h says how.

#include "tests/sim/log_sim.h"

int main(int argc, char** argv) {
  using namespace muster::sim;
  return simulate("sim_log", argc, argv, {.seeds = 1200}, [](std::uint64_t seed, bool trace) {
    LogSimOptions options;
    options.trace = trace;
    return LogSim(seed, options).run();
  });
}
