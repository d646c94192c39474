// Runs the simulated election for many seeds, or replays one; sim_main.h says how.

#include "tests/sim/election_sim.h"

int main(int argc, char** argv) {
  using namespace muster::sim;
  return simulate("sim_election", argc, argv, {}, [](std::uint64_t seed, bool trace) {
    ElectionSimOptions options;
    options.trace = trace;
    return ElectionSim(seed, options).run();
  });
}
