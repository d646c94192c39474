#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "platform/unique_fd.h"

namespace muster {

/// A program that lives no longer than this: its standard input is a pipe that only this process
/// holds, and it is expected to end when that pipe ends, as it does when this process dies in any
/// way. One thread, and one that only reads its lines.
class ChildProcess {
 public:
  /// Starts `words` in a session of its own, with `environment` (NAME=value) on top of ours.
  explicit ChildProcess(const std::vector<std::string>& words,
                        const std::vector<std::string>& environment = {});
  /// Closes its input and waits until it has ended.
  ~ChildProcess() { finish(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Sends a line to its standard input.
  void write_line(const std::string& line);
  /// The next line of its standard output without the newline; empty at its end.
  std::string read_line();
  /// Closes its input, waits, and answers with its exit code (128 + signal when killed).
  int finish();
  /// SIGKILL, and reaped on return.
  void kill();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int exit_code_ = -1;
  UniqueFd input_;
  UniqueFd output_;
  std::string unread_;
};

/// Runs `words` to its end and answers with its exit code.
int run_program(const std::vector<std::string>& words,
                const std::vector<std::string>& environment = {});

/// A new directory that goes away with this, whatever is in it.
class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A loopback port that nobody listens on now. Another process may take it before you do: retry.
[[nodiscard]] int free_port();

}  // namespace muster
