#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

[[nodiscard]] const char* to_string(LogLevel level);

/// One line of the log: a fixed message and the fields that vary. warn = an operator may act, error
/// = one must. Never contains a secret.
struct LogLine {
  using Fields = std::vector<std::pair<std::string_view, std::string>>;
  LogLevel level;
  std::string_view message;
  Fields fields;
};

/// Writes a line to the current sink (standard error as text until set_log_sink). Any thread.
void log(const LogLine& line);
/// Whether lines of this level are written at all. Ask before you build a costly line.
[[nodiscard]] bool log_enabled(LogLevel level);
void log_debug(std::string_view message,
               std::vector<std::pair<std::string_view, std::string>> fields = {});
void log_info(std::string_view message,
              std::vector<std::pair<std::string_view, std::string>> fields = {});
void log_warn(std::string_view message,
              std::vector<std::pair<std::string_view, std::string>> fields = {});
void log_error(std::string_view message,
               std::vector<std::pair<std::string_view, std::string>> fields = {});

using LogSink = std::function<void(const LogLine&)>;
/// Replaces the sink; an empty sink silences everything. Lines below `least` are dropped.
void set_log_sink(LogSink sink, LogLevel least = LogLevel::kInfo);

/// Drops lines below `least` from now on. Any thread.
void set_log_level(LogLevel least);
[[nodiscard]] LogLevel log_level();
/// "debug", "info", "warn" or "error"; kInvalid otherwise.
[[nodiscard]] Result<LogLevel> parse_log_level(std::string_view text);

/// One JSON object: time (ms since 1970), level, message, and every field by its name.
[[nodiscard]] std::string format_json(const LogLine& line, WallTime time);
/// message key=value …, quoted where a value holds spaces or quotes.
[[nodiscard]] std::string format_text(const LogLine& line);

}  // namespace muster
