// The two properties of the design, over random sequences.

#include <gtest/gtest.h>

#include "base/log.h"
#include "tests/sim/candidate_sim.h"

namespace muster::sim {
namespace candidate_property_test {

SimReport sequence(std::uint64_t seed, CandidateSimOptions options, std::size_t* intervals) {
  set_log_sink({});
  CandidateSim simulation(seed, options);
  SimReport report = simulation.run();
  *intervals += simulation.journal().intervals().size();
  EXPECT_EQ(report.violation, "") << "seed " << seed;
  return report;
}

// "only one leader across random start/stop sequences". P08: one serialized state machine.
TEST(CandidatePropertyTest, OnlyOneLeaderExistsAcrossRandomStartStopSequences) {
  std::size_t intervals = 0;
  std::uint64_t terms = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    terms += sequence(seed, {.chaos = 5min, .calm = 2min, .only_start_and_stop = true}, &intervals)
                 .terms;
    if (HasFailure()) return;
  }
  EXPECT_GT(terms, 1000u) << "too few terms to prove anything";
}

// "all coordination processes run on exactly one node", under every fault of the simulated store.
// C07, P05: also while candidates are killed and frozen.
TEST(CandidatePropertyTest, AllCoordinationProcessesRunOnExactlyOneNode) {
  // Takes up to 12 s beside other tests: 150 seeds of ten simulated minutes each; nothing in them
  // waits.
  std::size_t intervals = 0;
  for (std::uint64_t seed = 100'001; seed <= 100'150; ++seed) {
    sequence(seed, {.chaos = 5min, .calm = 5min}, &intervals);
    if (HasFailure()) return;
  }
  EXPECT_GT(intervals, 1000u) << "too little work to prove anything";
}

}  // namespace candidate_property_test
}  // namespace muster::sim
