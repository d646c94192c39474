#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/process_table.h"
#include "tests/support/child_process.h"

namespace muster {

/// How `muster run` is started in a test.
struct RunSpec {
  std::string arbiter;
  std::string name;
  std::string id;
  std::vector<std::string> options;
  std::vector<std::string> command;
  std::string output;  ///< A file for all that it prints.
};

/// The command line of such a run, which dies with the thread that starts it.
[[nodiscard]] std::vector<std::string> run_words(const RunSpec& spec);

/// A real `muster run` with its guardian and its command. It dies with the thread that made it, and
/// no later than this. One thread.
class RunNode {
 public:
  explicit RunNode(RunSpec spec);
  ~RunNode();
  RunNode(const RunNode&) = delete;
  RunNode& operator=(const RunNode&) = delete;

  /// False once it has ended by itself or otherwise.
  [[nodiscard]] bool runs() const;
  /// SIGTERM, and its exit code.
  int stop();
  void ask_to_stop() const;  ///< SIGTERM.
  int wait();                ///< For its end.
  void kill();               ///< SIGKILL to `muster run` alone; reaped on return.

  /// The guardian, and the command below it, while there are such.
  [[nodiscard]] std::optional<pid_t> guardian();
  [[nodiscard]] std::optional<pid_t> command();
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  [[nodiscard]] const RunSpec& spec() const { return spec_; }

 private:
  [[nodiscard]] std::optional<pid_t> child_of(pid_t parent);

  RunSpec spec_;
  std::unique_ptr<ChildProcess> process_;
  ProcessTable processes_;
};

}  // namespace muster
