// What the library costs those who use it: the compiler's time for each public header, and the
// shared objects that a leader loads.

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/report.h"
#include "tests/support/child_process.h"

using namespace muster;  // NOLINT: a program.

namespace {

constexpr int kRuns = 5;
constexpr double kSecondsMax = 0.15;
constexpr double kObjectsMax = 12;
const std::string kUsual = "#include <string>\n#include <functional>\n#include <memory>\n";

/// The folder of what is compiled and run here.
const std::filesystem::path& folder() {
  static const TempDir dir;
  return dir.path();
}

std::string written(const std::string& name, const std::string& text) {
  const std::string path = folder() / name;
  std::ofstream(path) << text;
  return path;
}

void run(const std::string& command) {
  if (std::system(command.c_str()) == 0) return;
  std::fprintf(stderr, "failed: %s\n", command.c_str());
  std::exit(1);
}

double seconds_of_children() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// CPU time of the compiler: the least of some runs, since whatever else runs only adds to it.
double seconds_to_read(const std::string& text) {
  const std::string source = written("header.cc", text);
  double least = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    const double before = seconds_of_children();
    run(MUSTER_COMPILER " -std=c++20 -fsyntax-only -I" MUSTER_SOURCE_DIR "/include " + source);
    least = std::min(least, seconds_of_children() - before);
  }
  return least;
}

/// Shared objects that `command`, a program, has loaded by its end, whenever it did.
double objects_loaded_by(const std::string& command) {
  const std::string told = folder() / "loader";
  run("LD_DEBUG=files LD_DEBUG_OUTPUT=" + told + " " + command);
  double count = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder())) {
    if (each.path().filename().string().find("loader.") != 0) continue;
    std::ifstream lines(each.path());
    for (std::string line; std::getline(lines, line);) {
      if (line.find("calling init: ") != line.npos) ++count;
    }
    lines.close();
    std::filesystem::remove(each.path());
  }
  return count;
}

}  // namespace

int main() {
  bench::Report report("library");
  report.title("A source that includes one public header");
  const double usual = seconds_to_read(kUsual);
  report.note("CPU seconds of the compiler beyond " + bench::figure(usual, 3) +
              " s for <string>, <functional> and <memory>; least of " + std::to_string(kRuns));
  std::vector<std::string> headers;
  const std::filesystem::path include = MUSTER_SOURCE_DIR "/include";
  for (const auto& each : std::filesystem::recursive_directory_iterator(include)) {
    const std::string name = each.path().lexically_relative(include);
    // What is for tests alone brings GoogleTest.
    if (each.is_regular_file() && name.find("testing/") == name.npos) headers.push_back(name);
  }
  std::sort(headers.begin(), headers.end());
  for (const std::string& header : headers) {
    const double cost = seconds_to_read(kUsual + "#include <" + header + ">\n") - usual;
    report.data()["header_seconds"][header] = cost;
    report.at_most(header, cost, kSecondsMax, "s");
  }

  report.title("A leader on file://");
  const std::string hello = folder() / "hello";
  run(MUSTER_COMPILER " -o " + hello + " " +
      written("hello.cc", "#include <iostream>\nint main() { std::cout << 1; }\n"));
  const double least = objects_loaded_by(hello + " > /dev/null");
  // It ends with its input, which is closed once it has said that it leads.
  const std::string input = folder() / "input";
  run("mkfifo " + input);
  const double loaded = objects_loaded_by(MUSTER_WORKER " file://" + std::string(folder()) +
                                          "/store n one 6000 work < " + input + " | { exec 3> " +
                                          input + "; grep -m 1 -q leading; exec 3>&-; cat; }");
  report.data()["objects"] = {{"hello world", least}, {"leader", loaded}};
  report.at_most("shared objects beyond those of a hello world", loaded - least, kObjectsMax, "");
  return report.finish();
}
