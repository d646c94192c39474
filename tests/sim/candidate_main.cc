// Runs the simulated candidates for many seeds, or replays one; sim_main.h says how.

#include "base/log.h"
#include "tests/sim/candidate_sim.h"

int main(int argc, char** argv) {
  using namespace muster::sim;
  muster::set_log_sink({});
  return simulate("sim_candidate", argc, argv, {.seeds = 1000}, [](std::uint64_t seed, bool trace) {
    CandidateSimOptions options;
    options.trace = trace;
    return CandidateSim(seed, options).run();
  });
}
