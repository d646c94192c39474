#pragma once

#include <sys/types.h>

namespace muster {

/// Lends the terminal on standard input to a process group of this session, so that it may read
/// from it and gets what is typed there (Ctrl-C), as a shell does with its jobs. Does nothing when
/// standard input is no terminal, or another group has it. One thread.
class ForegroundTerminal {
 public:
  ForegroundTerminal() = default;
  ~ForegroundTerminal() { take_back(); }
  ForegroundTerminal(const ForegroundTerminal&) = delete;
  ForegroundTerminal& operator=(const ForegroundTerminal&) = delete;

  /// False when there is nothing to lend now.
  bool lend(pid_t group);
  void take_back();
  [[nodiscard]] bool lent() const { return lent_; }
  /// Whether standard input is a terminal of this session.
  [[nodiscard]] static bool there();

 private:
  bool lent_ = false;
};

}  // namespace muster
