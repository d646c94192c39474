// Replays what servers decided: sim_membership --replay FILE, made by `muster record FILE`.

#include <cstdio>
#include <fstream>
#include <string_view>

#include "tests/sim/replay.h"

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "--replay") {
    std::fprintf(stderr, "usage: %s --replay FILE\n", argv[0]);
    return 64;
  }
  std::ifstream recording(argv[2]);
  if (!recording) {
    std::fprintf(stderr, "cannot read %s\n", argv[2]);
    return 64;
  }
  const auto report = muster::sim::replay(recording);
  if (!report.violation.empty()) {
    std::printf("%s\n", report.violation.c_str());
    return 1;
  }
  std::printf("%zu decisions lead to the %zu nodes that were recorded\n", report.decisions,
              report.nodes);
  return 0;
}
