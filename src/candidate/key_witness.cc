#include "candidate/key_witness.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "candidate/guardian.h"

namespace muster {

KeyWitness::KeyWitness(EventLoop& loop, const std::string& guardian, pid_t group,
                       std::function<void(int)> typed)
    : loop_(loop), typed_(std::move(typed)) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  socket_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  Command command{.argv = {guardian, kWatchKeys, std::to_string(group)}};
  command.null_stdin = true;
  command.descriptors = {{theirs.get(), guardian::kSocketFd}};
  command.death_signal = SIGKILL;
  auto process = spawn(command);
  if (!process) {
    socket_.reset();
    return;
  }
  process_.emplace(std::move(*process));
  loop_.watch_fd(socket_.get(), EPOLLIN, [this](std::uint32_t) { read(); });
}

KeyWitness::~KeyWitness() {
  if (socket_.valid()) loop_.unwatch_fd(socket_.get());
  if (!process_) return;
  process_->signal(SIGKILL);
  (void)process_->wait();
}

void KeyWitness::finish() {
  if (socket_.valid()) ::shutdown(socket_.get(), SHUT_WR);
}

void KeyWitness::read() {
  unsigned char number = 0;
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), &number, 1, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got == 1) {
      typed_(number);
      continue;
    }
    // Only its end closes the socket. Reaped at once: a child that has ended hides others from
    // processes that ask the kernel for any.
    loop_.unwatch_fd(socket_.get());
    (void)process_->wait();
    process_.reset();
    return socket_.reset();
  }
}

}  // namespace muster
