#pragma once

#include <string>

#include "store/remote/verdict.h"

namespace muster::postgres {

using remote::Access;
using remote::Reaction;
using remote::Verdict;

/// An error that a server reported.
struct ServerError {
  std::string state;     ///< The five characters of SQLSTATE.
  std::string severity;  ///< ERROR: the statement was undone. FATAL, PANIC: the connection is gone.
  std::string message;
};

/// Classifies an error that answered a statement. A write that may have been committed is
/// kAmbiguous. Pure.
[[nodiscard]] Verdict judge(const ServerError& error, Access access);

/// Classifies the end of an attempt to connect, by libpq's message. Reaction kFail: it fails again
/// until an operator changes something. Pure.
[[nodiscard]] Verdict judge_connection(const std::string& message);

}  // namespace muster::postgres
