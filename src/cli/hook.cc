#include "cli/hook.h"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

#include "base/text.h"

namespace muster::cli {

Hook::Hook(EventLoop& loop, std::string name, const std::string& text,
           std::vector<std::string> environment, std::function<void(Status)> done)
    : loop_(loop), name_(std::move(name)), done_(std::move(done)), timer_(loop) {
  muster::Command command{.argv = {"/bin/sh", "-c", text}};
  command.environment = std::move(environment);
  command.null_stdin = true;
  command.descriptors = {{STDERR_FILENO, STDOUT_FILENO}};
  auto process = spawn(command);
  if (!process) {
    loop_.post(lifetime_.wrap([this, error = process.error()] { done_(error); }));
    return;
  }
  process_.emplace(std::move(*process));
  loop_.watch_fd(process_->pidfd(), EPOLLIN, [this](std::uint32_t) { ended(); });
  timer_.arm(kTimeout, [this] {
    late_ = true;
    ::kill(-process_->pid(), SIGKILL);
  });
}

Hook::~Hook() {
  if (!process_) return;
  loop_.unwatch_fd(process_->pidfd());
  ::kill(-process_->pid(), SIGKILL);
  (void)process_->wait();
}

void Hook::ended() {
  loop_.unwatch_fd(process_->pidfd());
  timer_.cancel();
  const auto status = process_->try_wait();
  process_.reset();
  if (late_) {
    return done_(Error{Errc::kCancelled, name_ + " took longer than " + format_duration(kTimeout) +
                                             " and was killed"});
  }
  if (status && status->success()) return done_(Done{});
  done_(Error{Errc::kInvalid,
              name_ + " failed with " + std::to_string(status ? status->shell_code() : 0)});
}

}  // namespace muster::cli
