#pragma once

#include <muster/version.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

MUSTER_BEGIN_NAMESPACE

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarn = 2, kError = 3 };

/// One line: a fixed message, and fields for what differs each time. A warning is for an operator
/// who may act, an error for one who must. It never carries a secret.
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string message;
  std::vector<std::pair<std::string, std::string>> fields;
};

/// Gives every line of the library of at least this level to `sink`; an empty sink drops them all.
///
/// Without this call the library is silent, but for errors: each is written to standard error once.
///
/// Threads: any thread may call it. The sink is called on the library's threads, also on several at
/// once. It must return quickly, since a leader does not renew its lease meanwhile, and it must not
/// call the library. A line that is being written when the sink is replaced may still go to the
/// earlier one.
MUSTER_EXPORT void set_log_sink(std::function<void(const LogLine&)> sink,
                                LogLevel least = LogLevel::kInfo);

MUSTER_END_NAMESPACE
