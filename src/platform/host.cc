#include "platform/host.h"

#include <unistd.h>

#include <array>

namespace muster {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::string default_worker_id() {
  return host_name() + "-" + std::to_string(::getpid());
}

}  // namespace muster
