#include "cli/hook.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "base/text.h"

namespace muster::cli {
namespace {

/// What dying may take, on top of the time that a hook has.
constexpr Duration kMargin = 500ms;
/// What a hook left behind is given to end.
constexpr Duration kGrace = 500ms;

GuardianOptions guarded() {
  return {.program = find_guardian(),
          .kill_margin = kMargin,
          .warning = Duration{0},
          .grace = kGrace,
          .adopts_orphans = true};
}

}  // namespace

Hook::Hook(EventLoop& loop, std::string name, const std::string& text, Epoch epoch,
           std::vector<std::string> environment, std::function<void(Status)> done)
    : loop_(loop),
      name_(std::move(name)),
      late_(loop.now() + kTimeout),
      done_(std::move(done)),
      command_(loop, guarded(),
               {.started = [](pid_t) {},
                .unkillable = [](pid_t) {},
                .failed = [this](const Error& error) { done_(error); },
                .gone = [this](ExitStatus status) { ended(status); },
                .lost =
                    [this](GuardedCommand::Lost) {
                      done_(Error{Errc::kCancelled, name_ + ": its guardian died"});
                    }}) {
  muster::Command command{.argv = {"/bin/sh", "-c", text}};
  command.environment = std::move(environment);
  command.null_stdin = true;
  command.descriptors = {{STDERR_FILENO, STDOUT_FILENO}};
  const Status started = command_.start(command, epoch, late_ + kMargin);
  if (started) return;
  loop_.post(lifetime_.wrap([this, error = started.error()] { done_(error); }));
}

void Hook::ended(ExitStatus status) {
  if (status.signal == SIGKILL && loop_.now() >= late_) {
    return done_(Error{Errc::kCancelled, name_ + " took longer than " + format_duration(kTimeout) +
                                             " and was killed"});
  }
  if (status.success()) return done_(Done{});
  done_(Error{Errc::kInvalid, name_ + " failed with " + std::to_string(status.shell_code())});
}

void HookQueue::add(std::string name, std::string text, Epoch epoch,
                    std::vector<std::string> environment) {
  waiting_.push_back({std::move(name), std::move(text), epoch, std::move(environment)});
  if (!running_) next();
}

void HookQueue::next() {
  if (waiting_.empty()) return idle_();
  Waiting each = std::move(waiting_.front());
  waiting_.pop_front();
  running_ = std::make_unique<Hook>(loop_, std::move(each.name), each.text, each.epoch,
                                    std::move(each.environment), [this](const Status& status) {
                                      if (!status) failed_(status.error().message);
                                      loop_.post(lifetime_.wrap([this] {
                                        running_.reset();
                                        next();
                                      }));
                                    });
}

}  // namespace muster::cli
