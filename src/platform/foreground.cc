#include "platform/foreground.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

namespace muster {
namespace {

/// Who gives the terminal away from the background is stopped by SIGTTOU, unless that is blocked.
void give_to(pid_t group) {
  sigset_t set, before;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &set, &before);
  // Fails when the terminal was closed, and then there is nothing to give.
  (void)::tcsetpgrp(STDIN_FILENO, group);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

bool ForegroundTerminal::lend(pid_t group) {
  if (lent_ || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return false;
  lent_ = true;
  give_to(group);
  // It may have asked for input before it could have any, and been stopped for that.
  ::kill(-group, SIGCONT);
  return true;
}

bool ForegroundTerminal::there() {
  return ::tcgetpgrp(STDIN_FILENO) >= 0;
}

void ForegroundTerminal::take_back() {
  if (std::exchange(lent_, false)) give_to(::getpgrp());
}

}  // namespace muster
