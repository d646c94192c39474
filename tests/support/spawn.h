#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "platform/unique_fd.h"

namespace muster::testing {

/// A loopback port that is bound but never listened on: the kernel gives it to nobody who asks for
/// "any port", while a server that sets SO_REUSEADDR may still listen on it. Throws
/// std::runtime_error when there is none.
[[nodiscard]] std::pair<UniqueFd, int> reserve_port();

/// Starts a program with standard output and error on `out`. It dies with the thread that calls
/// this. Throws std::runtime_error when no process can be made.
[[nodiscard]] pid_t spawn(const std::vector<std::string>& words, int out);

/// Waits for its end; its exit code, or 128 + signal.
int reap(pid_t pid);

struct ProgramOutput {
  int code;  ///< As reap() returns it.
  std::string text;
};
/// Runs it to its end.
[[nodiscard]] ProgramOutput output_of(const std::vector<std::string>& words);

/// Waits until SIGSTOP, already sent, is in force; false when the process ended instead.
[[nodiscard]] bool await_stopped(pid_t pid);

}  // namespace muster::testing
