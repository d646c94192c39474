#pragma once

#include "base/result.h"

namespace muster::cli {

/// What `muster` ends with. Scripts decide by these, so they never change their meaning.
enum ExitCode : int {
  kDone = 0,
  kNo = 1,            ///< The answer is "no": nobody leads, not healthy, refused.
  kUnsafeStore = 3,   ///< The store cannot judge an election.
  kUsage = 64,        ///< The command line, the environment or the file is wrong.
  kUnreachable = 69,  ///< No answer from the store or the servers; the machine lacks something.
  // Of `muster run`, whose command may end with these numbers, too: standard error says which.
  kNotAcquired = 70,         ///< Another node leads, and waiting is over.
  kLost = 71,                ///< The lease was lost; the command was ended.
  kArbiterUnreachable = 72,  ///< No answer from the store before the first term.
  kSupervisionFailed = 73,   ///< The command cannot be started, kept running, or ended.
  kOutputLost = 74,          ///< Nobody reads what it prints.
};

/// The code for a command that failed with `error`.
[[nodiscard]] constexpr int exit_code(const Error& error) {
  return error.code == Errc::kInvalid ? kUsage : kUnreachable;
}

}  // namespace muster::cli
