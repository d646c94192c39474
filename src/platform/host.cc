#include "platform/host.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

namespace muster {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::string default_worker_id() {
  return host_name() + "-" + std::to_string(::getpid());
}

int raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlimit most{limit.rlim_max, limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &most) == 0) limit = most;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT_MAX));
}

Status need_descriptors(int count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(count)) {
    return Done{};
  }
  return {Errc::kUnavailable, "this process may open " + std::to_string(limit.rlim_cur) +
                                  " files but needs " + std::to_string(count) +
                                  "; raise the limit (ulimit -n, LimitNOFILE=)"};
}

}  // namespace muster
