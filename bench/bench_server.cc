// musterd beside etcd, in the same run, on the same machine: what a write, a heartbeat, a delivery,
// a read and a failover cost. Calls are made by our own client and by gRPC's for C++, each with
// servers of its own. The ratios count; the machine is noisy.
//   bench_server [--seconds N] [--tmpfs] [PART…]
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"
#include "bench/server_parts.h"

namespace muster::bench {
namespace {

struct Part {
  const char* name;
  void (*measure)(Report&, const ServerRun&);
};

/// The start of a program comes first: to fork a process that has held thousands of connections
/// takes several times as long.
constexpr Part kParts[] = {
    {"start", measure_start},           {"commands", measure_commands},
    {"heartbeats", measure_heartbeats}, {"watches", measure_watches},
    {"reads", measure_reads},           {"standing", measure_standing},
    {"failover", measure_failover},
};

[[noreturn]] void usage() {
  std::fprintf(stderr, "usage: bench_server [--seconds N] [--tmpfs] [PART…]; parts are");
  for (const Part& part : kParts) std::fprintf(stderr, " %s", part.name);
  std::fprintf(stderr, "\n");
  std::exit(64);
}

/// 5,000 connections are 5,000 descriptors, here and in each server that inherits the limit.
void allow_many_connections() {
  rlimit limit{};
  MUSTER_CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  MUSTER_CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

int run(const ServerRun& how, const std::vector<std::string>& names) {
  allow_many_connections();
  Report report(names.empty() ? "server" : "parts/server");
  report.note(how.tmpfs ? "etcd keeps its data in memory" : "etcd keeps its data on disk");
  report.data()["tmpfs"] = how.tmpfs;
  for (const Part& part : kParts) {
    bool wanted = names.empty();
    for (const std::string& name : names) wanted = wanted || name == part.name;
    if (wanted) part.measure(report, how);
  }
  return report.finish();
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  using namespace muster::bench;
  ServerRun how;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--tmpfs") {
      how.tmpfs = true;
    } else if (word == "--seconds") {
      const double seconds = ++i < argc ? std::atof(argv[i]) : 0;
      if (!(seconds > 0)) usage();
      how.time = muster::scale(std::chrono::seconds(1), seconds);
    } else {
      bool known = false;
      for (const Part& part : kParts) known = known || word == part.name;
      if (!known) usage();
      names.push_back(word);
    }
  }
  return run(how, names);
}
