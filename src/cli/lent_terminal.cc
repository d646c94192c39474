#include "cli/lent_terminal.h"

#include <signal.h>

#include "candidate/guarded_command.h"
#include "cli/exit_code.h"

namespace muster::cli {
namespace {

/// A command that ends this soon after Ctrl-C was typed for it has ended because of it.
constexpr Duration kTypedCounts = 10s;

/// How often to look whether a shell has put this job into the foreground, which it tells nobody.
constexpr Duration kLookInterval = 250ms;

}  // namespace

void LentTerminal::command_started(pid_t group) {
  group_ = group;
  typed_ = 0;
  look();
}

void LentTerminal::look() {
  if (group_ == 0 || terminal_.lent() || !ForegroundTerminal::there()) return timer_.cancel();
  timer_.arm(kLookInterval, [this] { look(); });
  if (!terminal_.lend(group_)) return;
  keys_ = std::make_unique<KeyWitness>(loop_, find_guardian(), group_,
                                       [this](int number) { on_typed(number); });
}

void LentTerminal::command_ended(const std::optional<ExitStatus>& status) {
  group_ = 0;
  timer_.cancel();
  code_ = status ? status->shell_code() : kSupervisionFailed;
  if (!terminal_.lent()) return;
  terminal_.take_back();
  if (keys_) keys_->finish();
  if (typed_ == 0 && status && (code_ == 128 + SIGINT || code_ == 128 + SIGQUIT)) {
    return ended_by_key_(code_ - 128, code_);
  }
  if (typed_ != 0 && loop_.now() - typed_at_ < kTypedCounts) ended_by_key_(typed_, code_);
}

void LentTerminal::on_typed(int number) {
  typed_ = number;
  typed_at_ = loop_.now();
  // It may be told only after the end of the command that it was typed for.
  if (!terminal_.lent()) ended_by_key_(number, code_);
}

}  // namespace muster::cli
