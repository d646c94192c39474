#pragma once

// What the simulators' programs share: many seeds, or the replay of one.
//   sim_x --seeds 2000 [--first 1]
//   sim_x --seed 17 --trace
//   mutants_x --mutant FILE     (the bug planted by it must be caught by what it says)

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "tests/mutants/planted.h"

namespace muster::sim {

struct SimReport {
  std::string violation;  ///< Empty: every invariant held after every event.
  std::uint64_t terms = 0;
  std::uint64_t events = 0;
  Duration simulated{0};
  std::vector<std::string> trace;
};

/// However slow a simulation is, it has this many seeds.
inline constexpr std::uint64_t kSeedsMin = 60;

struct SimArguments {
  std::uint64_t first = 1;
  std::uint64_t seeds = 2000;
  double seconds = 0;  ///< No further seed after this much CPU time and kSeedsMin; 0: all.
  bool trace = false;
  std::string mutant{};     ///< The file that planted a bug; empty: there must be none.
  std::string caught_by{};  ///< The violation that it must lead to, with … for anything.
  std::uint64_t known = 0;  ///< The seed that showed it last, which is tried before all others.
};

/// Whether `text` is the pattern, in which … stands for anything.
inline bool matches(std::string_view text, std::string_view pattern) {
  constexpr std::string_view kAnything = "…";
  const std::size_t gap = pattern.find(kAnything);
  if (gap == std::string_view::npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, gap))) return false;
  pattern.remove_prefix(gap + kAnything.size());
  for (text.remove_prefix(gap); !matches(text, pattern); text.remove_prefix(1)) {
    if (text.empty()) return false;
  }
  return true;
}

/// What the line `name: …` of a mutant says, empty if there is none.
inline std::string field_of(const std::string& mutant, std::string_view name) {
  std::ifstream file(mutant);
  for (std::string line; std::getline(file, line) && line != "<<<<";) {
    if (line.starts_with(name)) return line.substr(name.size());
  }
  return {};
}

inline bool parse(const char* program, int argc, char** argv, SimArguments& arguments) {
  if (const char* seeds = std::getenv("MUSTER_SIM_SEEDS"))
    arguments.seeds = std::strtoull(seeds, nullptr, 10);
  if (const char* first = std::getenv("MUSTER_SIM_FIRST"))
    arguments.first = std::strtoull(first, nullptr, 10);
  if (const char* seconds = std::getenv("MUSTER_SIM_SECONDS"))
    arguments.seconds = std::strtod(seconds, nullptr);
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const bool has_value = i + 1 < argc;
    if (name == "--trace") {
      arguments.trace = true;
    } else if (name == "--mutant" && has_value) {
      arguments.mutant = argv[++i];
      static const std::string bug = std::filesystem::path(arguments.mutant).stem();
      planted_bug = bug;
      arguments.caught_by = field_of(arguments.mutant, "caught: ");
      arguments.known = std::strtoull(field_of(arguments.mutant, "seed: ").c_str(), nullptr, 10);
      if (!arguments.caught_by.empty()) continue;
      std::fprintf(stderr, "%s has no line \"caught: \"\n", arguments.mutant.c_str());
      return false;
    } else if (name == "--seeds" && has_value) {
      arguments.seeds = std::strtoull(argv[++i], nullptr, 10);
    } else if (name == "--first" && has_value) {
      arguments.first = std::strtoull(argv[++i], nullptr, 10);
    } else if (name == "--seed" && has_value) {
      arguments.first = std::strtoull(argv[++i], nullptr, 10);
      arguments.seeds = 1;
    } else {
      std::fprintf(stderr,
                   "usage: %s [--seeds N] [--first N] [--seed N] [--trace] [--mutant FILE]\n",
                   program);
      return false;
    }
  }
  return true;
}

inline double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

using Simulation = std::function<SimReport(std::uint64_t seed, bool trace)>;

/// The whole of main().
inline int simulate(const char* program, int argc, char** argv, SimArguments arguments,
                    const Simulation& simulation) {
  if (!parse(program, argc, argv, arguments)) return 64;
  // Where the seed that showed the bug last is one of those that the simulation itself gets, it
  // proves as much as the search for it. When a simulation changes, another one must be found.
  if (!arguments.mutant.empty() && arguments.known >= arguments.first &&
      arguments.known < arguments.first + arguments.seeds) {
    const SimReport report = simulation(arguments.known, arguments.trace);
    for (const std::string& line : report.trace) std::puts(line.c_str());
    if (matches(report.violation, arguments.caught_by)) {
      std::printf("caught by seed %llu, as before\n",
                  static_cast<unsigned long long>(arguments.known));
      return 0;
    }
  }
  double hours = 0;
  std::uint64_t terms = 0;
  std::uint64_t events = 0;
  for (std::uint64_t seed = arguments.first; seed < arguments.first + arguments.seeds; ++seed) {
    if (arguments.seconds > 0 && cpu_seconds() > arguments.seconds &&
        seed - arguments.first >= kSeedsMin) {
      arguments.seeds = seed - arguments.first;
      break;
    }
    const SimReport report = simulation(seed, arguments.trace);
    for (const std::string& line : report.trace) std::puts(line.c_str());
    hours += static_cast<double>(to_ms(report.simulated)) / 3.6e6;
    terms += report.terms;
    events += report.events;
    const std::uint64_t done = seed - arguments.first + 1;
    if (done % 5000 == 0 && done < arguments.seeds) {
      std::printf("%s: %llu of %llu seeds so far\n", program, static_cast<unsigned long long>(done),
                  static_cast<unsigned long long>(arguments.seeds));
      std::fflush(stdout);
    }
    if (report.violation.empty()) continue;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), report.violation.c_str());
    if (matches(report.violation, arguments.caught_by)) {
      std::printf("caught after %llu seeds; write \"seed: %llu\" into %s\n",
                  static_cast<unsigned long long>(done), static_cast<unsigned long long>(seed),
                  arguments.mutant.c_str());
      return 0;
    }
    // Something else caught it here; what is to be shown is that this one can.
    if (!arguments.mutant.empty()) continue;
    std::printf("replay: %s --seed %llu --trace\n", program, static_cast<unsigned long long>(seed));
    return 1;
  }
  const double cpu = cpu_seconds();
  std::printf(
      "%s: %llu seeds, %.0f simulated hours, %llu terms, %llu events, %.1f CPU s, "
      "%.1f simulated hours per CPU s\n",
      program, static_cast<unsigned long long>(arguments.seeds), hours,
      static_cast<unsigned long long>(terms), static_cast<unsigned long long>(events), cpu,
      hours / cpu);
  if (!arguments.mutant.empty()) {
    std::printf("the planted bug was NOT caught by: %s\n", arguments.caught_by.c_str());
    return 1;
  }
  return 0;
}

}  // namespace muster::sim
