#include <string>
#include <vector>

#include "base/check.h"
#include "bench/report.h"
#include "bench/server_parts.h"
#include "platform/system_clock.h"
#include "tests/support/child_process.h"

namespace muster::bench {
namespace {

constexpr int kStarts = 50;

/// From the call that starts it to its end, median.
double start_ms() {
  std::vector<double> times;
  for (int i = 0; i < kStarts; ++i) {
    const MonoTime began = boot_now();
    ChildProcess program({MUSTER_PROGRAM, "--version"});
    MUSTER_CHECK(program.finish() == 0);
    times.push_back(std::chrono::duration<double, std::milli>(boot_now() - began).count());
  }
  return percentile(times, 0.5);
}

/// As its loader names them, the kernel's own page left out.
double shared_objects() {
  ChildProcess program({MUSTER_PROGRAM}, {"LD_TRACE_LOADED_OBJECTS=1"});
  double count = 0;
  for (std::string line = program.read_line(); !line.empty(); line = program.read_line()) {
    if (line.find("linux-vdso") == std::string::npos) ++count;
  }
  MUSTER_CHECK(program.finish() == 0 && count > 0);
  return count;
}

}  // namespace

void measure_start(Report& report, const ServerRun&) {
  report.title("the start of the muster command");
  const double start = start_ms();
  const double objects = shared_objects();
  report.data()["start"] = {{"ms", start}, {"shared_objects", objects}};
  report.at_most("muster --version, start to end, p50", start, 15, "ms");
  report.at_most("shared objects that muster loads", objects, 25, "");
}

}  // namespace muster::bench
