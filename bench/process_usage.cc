#include "bench/process_usage.h"

#include <time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/check.h"

namespace muster::bench {
namespace {

std::string read_proc(pid_t pid, const char* name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  MUSTER_CHECK(!text.str().empty());
  return text.str();
}

}  // namespace

Duration cpu_of(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  MUSTER_CHECK(::clock_getcpuclockid(pid, &clock) == 0 && ::clock_gettime(clock, &used) == 0);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

double rss_of(pid_t pid) {
  std::istringstream fields(read_proc(pid, "statm"));
  double size = 0;
  double resident = 0;
  fields >> size >> resident;
  MUSTER_CHECK(!fields.fail());
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace muster::bench
