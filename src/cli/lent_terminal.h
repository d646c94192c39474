#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/loop.h"
#include "candidate/key_witness.h"
#include "platform/event_loop.h"
#include "platform/foreground.h"
#include "platform/process.h"

namespace muster::cli {

/// The terminal that `muster run` was started on, lent to its command while that runs. What is
/// typed there reaches the command alone but is meant for both: this tells when a command has ended
/// by it, whatever its exit code. Loop thread only.
class LentTerminal {
 public:
  /// `ended_by_key` is told the signal of the key, SIGINT or SIGQUIT, and the exit code of the
  /// command that has ended by it.
  LentTerminal(EventLoop& loop, std::function<void(int number, int code)> ended_by_key)
      : loop_(loop), ended_by_key_(std::move(ended_by_key)), timer_(loop) {}

  void command_started(pid_t group);
  void command_ended(const std::optional<ExitStatus>& status);
  /// Lends it if a command runs and this process is in the foreground: a shell may have brought it
  /// there just now.
  void look();

 private:
  void on_typed(int number);

  EventLoop& loop_;
  const std::function<void(int, int)> ended_by_key_;
  Timer timer_;
  ForegroundTerminal terminal_;
  std::unique_ptr<KeyWitness> keys_;  ///< While it is lent, and until it has told all.
  pid_t group_ = 0;                   ///< Of the command that runs.
  int code_ = 0;                      ///< Of the command that ended last.
  int typed_ = 0;                     ///< The signal of the key typed last for this command.
  MonoTime typed_at_{};
};

}  // namespace muster::cli
