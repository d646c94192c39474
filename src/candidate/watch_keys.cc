// The witness of keys that are typed, as a process of its own; see key_witness.h.

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "candidate/guardian.h"
#include "candidate/key_witness.h"
#include "platform/unique_fd.h"

namespace muster {

int watch_keys(pid_t group) {
  sigset_t all, keys;
  ::sigfillset(&all);
  // Before it joins: what is sent to the group is meant for others.
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  // Blocking does not keep these from stopping a process.
  for (const int number : {SIGTSTP, SIGTTIN, SIGTTOU}) ::sigaction(number, &ignore, nullptr);
  ::sigemptyset(&keys);
  ::sigaddset(&keys, SIGINT);
  ::sigaddset(&keys, SIGQUIT);
  const UniqueFd typed(::signalfd(-1, &keys, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!typed.valid() || ::setpgid(0, group) != 0) return 1;
  for (;;) {
    std::array<pollfd, 2> fds{{{typed.get(), POLLIN, 0}, {guardian::kSocketFd, POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return 1;
    signalfd_siginfo each;
    while (::read(typed.get(), &each, sizeof each) == sizeof each) {
      const auto number = static_cast<unsigned char>(each.ssi_signo);
      if (::send(guardian::kSocketFd, &number, 1, MSG_NOSIGNAL) != 1) return 0;
    }
    // The other side says nothing: it is done, or dead.
    if (fds[1].revents != 0) return 0;
  }
}

}  // namespace muster
