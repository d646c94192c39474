#include "bench/process_usage.h"

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
  const std::string stat = read_proc(pid, "stat");
  // The second field is the program's name in brackets, which may hold spaces; utime and stime are
  // the 14th and the 15th.
  std::istringstream rest(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) rest >> skipped;
  std::int64_t user = 0;
  std::int64_t system = 0;
  rest >> user >> system;
  MUSTER_CHECK(!rest.fail());
  return std::chrono::nanoseconds(1'000'000'000 / ::sysconf(_SC_CLK_TCK)) * (user + system);
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
