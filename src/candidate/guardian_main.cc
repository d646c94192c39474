// muster-guardian: started by whoever supervises a command, once per command.

#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

#include "candidate/guardian.h"

int main(int argc, char** argv) {
  const auto charge = muster::guardian::from_arguments({argv + 1, argv + argc});
  int kind = 0;
  socklen_t size = sizeof kind;
  const bool has_socket =
      ::getsockopt(muster::guardian::kSocketFd, SOL_SOCKET, SO_TYPE, &kind, &size) == 0;
  if (!charge || !has_socket) {
    std::fprintf(stderr, "muster-guardian: this program is started by muster, not by hand.\n");
    return 64;
  }
  // Everything has been said. A check for leaks at the exit would start a process of its own, which
  // the parent takes for a leftover of the command while it waits for this one's end.
  ::_exit(muster::guardian::run(*charge));
}
