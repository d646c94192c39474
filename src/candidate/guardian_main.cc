// muster-guardian: started by the supervisor of a command, once per command; and once more to
// learn what is typed on a terminal that was lent to it.

#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "candidate/guardian.h"
#include "candidate/key_witness.h"

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == std::string_view(muster::kWatchKeys)) {
    const auto group = muster::parse_unsigned(argv[2]);
    ::_exit(group ? muster::watch_keys(static_cast<pid_t>(*group)) : 64);
  }
  auto charge = muster::guardian::from_arguments({argv + 1, argv + argc});
  auto environment = muster::guardian::from_file(muster::guardian::kEnvironmentFd);
  int kind = 0;
  socklen_t size = sizeof kind;
  const bool has_socket =
      ::getsockopt(muster::guardian::kSocketFd, SOL_SOCKET, SO_TYPE, &kind, &size) == 0;
  if (!charge || !environment || !has_socket) {
    std::fprintf(stderr, "muster-guardian: this program is started by muster, not by hand.\n");
    return 64;
  }
  charge->environment = std::move(*environment);
  // Everything has been said. A check for leaks at the exit would start a process of its own, which
  // the parent takes for a leftover of the command while it waits for this one's end.
  ::_exit(muster::guardian::run(std::move(*charge)));
}
