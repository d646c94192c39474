// Runs the simulated election for many seeds, or replays one:
//   sim_election --seeds 2000 [--first 1]
//   sim_election --seed 17 --trace
//   sim_election --seeds 3000 --expect-violation     (a planted bug must be caught)

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "tests/sim/election_sim.h"

namespace {

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t seeds = 2000;
  bool trace = false;
  bool expect_violation = false;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  if (const char* seeds = std::getenv("MUSTER_SIM_SEEDS"))
    arguments.seeds = std::strtoull(seeds, nullptr, 10);
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const bool has_value = i + 1 < argc;
    if (name == "--trace") {
      arguments.trace = true;
    } else if (name == "--expect-violation") {
      arguments.expect_violation = true;
    } else if (name == "--seeds" && has_value) {
      arguments.seeds = std::strtoull(argv[++i], nullptr, 10);
    } else if (name == "--first" && has_value) {
      arguments.first = std::strtoull(argv[++i], nullptr, 10);
    } else if (name == "--seed" && has_value) {
      arguments.first = std::strtoull(argv[++i], nullptr, 10);
      arguments.seeds = 1;
    } else {
      std::fprintf(stderr,
                   "usage: sim_election [--seeds N] [--first N] [--seed N] [--trace] "
                   "[--expect-violation]\n");
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace muster::sim;
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return 64;
  ElectionSimOptions options;
  options.trace = arguments.trace;
  double hours = 0;
  std::uint64_t terms = 0;
  std::uint64_t events = 0;
  for (std::uint64_t seed = arguments.first; seed < arguments.first + arguments.seeds; ++seed) {
    const ElectionSimReport report = ElectionSim(seed, options).run();
    for (const std::string& line : report.trace) std::puts(line.c_str());
    hours += static_cast<double>(muster::to_ms(report.simulated)) / 3.6e6;
    terms += report.terms;
    events += report.events;
    if (report.violation.empty()) continue;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), report.violation.c_str());
    if (arguments.expect_violation) {
      std::printf("caught after %llu seeds\n",
                  static_cast<unsigned long long>(seed - arguments.first + 1));
      return 0;
    }
    std::printf("replay: sim_election --seed %llu --trace\n",
                static_cast<unsigned long long>(seed));
    return 1;
  }
  const double cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  std::printf(
      "%llu seeds, %.0f simulated hours, %llu terms, %llu events, %.1f CPU s, "
      "%.1f simulated hours per CPU s\n",
      static_cast<unsigned long long>(arguments.seeds), hours,
      static_cast<unsigned long long>(terms), static_cast<unsigned long long>(events), cpu,
      hours / cpu);
  if (arguments.expect_violation) {
    std::printf("the planted bug was NOT caught\n");
    return 1;
  }
  return 0;
}
