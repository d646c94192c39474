#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "platform/unique_fd.h"

namespace muster {

/// How a process ended.
struct ExitStatus {
  int code = 0;    ///< What it returned; 0 when a signal ended it.
  int signal = 0;  ///< The signal that ended it; 0 when it returned.

  [[nodiscard]] bool success() const { return code == 0 && signal == 0; }
  /// As a shell tells it: the code, or 128 + signal.
  [[nodiscard]] int shell_code() const { return signal == 0 ? code : 128 + signal; }
  bool operator==(const ExitStatus&) const = default;
};

/// A program to run. There is no shell in between: arguments arrive as they are.
struct Command {
  std::vector<std::string> argv;  ///< The first is looked up in PATH unless it holds a slash.
  std::optional<std::vector<std::string>> environment{};  ///< NAME=value; ours when absent.
  std::string directory{};                                ///< Ours when empty.
  bool null_stdin = false;
  /// Descriptors it gets besides 0, 1 and 2, as (ours, the number there). All others are closed.
  std::vector<std::pair<int, int>> descriptors{};
  /// Sent to it when the *thread* that started it ends, so keep that thread. 0: none.
  int death_signal = 0;
  /// The directory of the cgroup that it runs in from the start; -1: in ours.
  int control_group = -1;
};

/// A child process, named by a pidfd, so that it cannot be mistaken for a later one with its id.
/// Neither ends nor waits for the process when it is destroyed. One thread.
class Process {
 public:
  Process(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  /// Also the id of its process group.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable once the process has ended.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  /// Reaps it if it has ended; nothing while it runs.
  [[nodiscard]] std::optional<ExitStatus> try_wait();
  /// Reaps it, however long that takes.
  [[nodiscard]] ExitStatus wait();
  /// False when it is gone already.
  bool signal(int number) const;

 private:
  std::optional<ExitStatus> wait_with(int options);

  pid_t pid_;
  UniqueFd pidfd_;
};

/// Starts a program in a process group of its own, with default signal handling. Returns once it
/// runs: a program that cannot be executed is an error here, not an exit status.
/// kNotFound: no such command or directory. kDenied: not executable. kInvalid: no program.
/// Where this process ignores SIGCHLD, it no longer does: how a child ended could not be known.
[[nodiscard]] Result<Process> spawn(const Command& command);
/// Reaps children that have ended and were not started by spawn(). For process 1 of a container,
/// which becomes the parent of whatever others leave behind. Only where nobody else waits for
/// children. Any thread.
void reap_strangers();

/// From now on this process, and not process 1, becomes the parent of whatever loses its own below
/// it. Call reap_strangers() now and then.
void adopt_orphans();
/// Calls `stranger` for each child of this process that was not started by spawn(), hidden ones and
/// those that have ended included, and reaps the latter. As reap_strangers().
void each_stranger(const std::function<void(pid_t)>& stranger);

/// Names a process, a child or not; invalid when there is none with that id.
[[nodiscard]] UniqueFd open_pidfd(pid_t pid);
/// Whether a command can be started as far as its files tell, as spawn() would say it.
[[nodiscard]] Status can_run(const Command& command);
/// This process's environment as NAME=value.
[[nodiscard]] std::vector<std::string> environment();
/// Sets NAME=value in such a list, in the place of what it held before.
void set_variable(std::vector<std::string>& environment, const std::string& name,
                  const std::string& value);
/// Opens /dev/null in the place of standard input, output or error where this process was started
/// without, so that no file or socket gets that number and is taken for it. Before anything else is
/// opened.
void open_missing_standard_descriptors();
/// The directory of the program that runs.
[[nodiscard]] std::string program_directory();

}  // namespace muster
