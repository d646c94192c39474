#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace CLI {
class App;
}

namespace muster::cli {

/// One command of `muster`. It lives in a file of its own, with its factory in commands.h.
class Command {
 public:
  virtual ~Command() = default;

  [[nodiscard]] virtual const char* name() const = 0;
  /// One line for the list of commands.
  [[nodiscard]] virtual const char* summary() const = 0;
  /// A command line to copy, and what else --help should say.
  [[nodiscard]] virtual const char* example() const = 0;
  /// Adds its options; they are set by the time of run(). A command with several actions adds a
  /// subcommand for each, with options of its own.
  virtual void declare(CLI::App& app) = 0;
  /// Where the words after `--` go: a command line to run. None: it takes no such words.
  [[nodiscard]] virtual std::vector<std::string>* command_line() { return nullptr; }
  /// It runs until interrupted, so that nothing waits for its end.
  [[nodiscard]] virtual bool lasting() const { return false; }
  /// Answers with the exit code. An error is printed by the caller, as one sentence.
  [[nodiscard]] virtual Result<int> run(Terminal& terminal) = 0;
};

}  // namespace muster::cli
