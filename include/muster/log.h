#pragma once

#include <muster/version.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

MUSTER_BEGIN_NAMESPACE

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarn = 2, kError = 3 };

/// One line of the log: a fixed message, and the fields that vary. An operator may act on a warning
/// and must act on an error. Never contains a secret.
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string message;
  std::vector<std::pair<std::string, std::string>> fields;
};

/// Passes every line of the library of at least this level to `sink`; an empty sink drops them all.
///
/// Without this call the library is silent, except for errors: each goes to standard error once.
///
/// Threads: any thread may call it. The library's threads call the sink, also several at once. It
/// must return quickly, because a leader does not renew its lease meanwhile, and it must not call
/// the library. A line that is being written when the sink is replaced may still go to the earlier
/// one.
MUSTER_EXPORT void set_log_sink(std::function<void(const LogLine&)> sink,
                                LogLevel least = LogLevel::kInfo);

MUSTER_END_NAMESPACE
