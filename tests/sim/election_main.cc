// Runs the simulated election for many seeds, or replays one; sim_main.h says how.

#include "base/log.h"
#include "tests/sim/election_sim.h"
#include "tests/sim/outage_sim.h"

int main(int argc, char** argv) {
  using namespace muster::sim;
  muster::set_log_sink({});
  return simulate("sim_election", argc, argv, {}, [](std::uint64_t seed, bool trace) {
    // Every seventh seed asks how soon there is a leader again, all others whether there are two.
    if (seed % 7 == 0) return OutageSim(seed, trace).run();
    ElectionSimOptions options;
    options.trace = trace;
    return ElectionSim(seed, options).run();
  });
}
