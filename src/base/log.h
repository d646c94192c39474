#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

[[nodiscard]] const char* to_string(LogLevel level);

/// One line: a fixed message and what differs each time. warn = an operator may act, error = one
/// must. Never carries a secret.
struct LogLine {
  LogLevel level;
  std::string_view message;
  std::vector<std::pair<std::string_view, std::string>> fields;
};

/// Writes a line to the sink in force (standard error as text until set_log_sink). Any thread.
void log(const LogLine& line);
void log_info(std::string_view message,
              std::vector<std::pair<std::string_view, std::string>> fields = {});
void log_warn(std::string_view message,
              std::vector<std::pair<std::string_view, std::string>> fields = {});
void log_error(std::string_view message,
               std::vector<std::pair<std::string_view, std::string>> fields = {});

using LogSink = std::function<void(const LogLine&)>;
/// Replaces the sink; an empty one silences everything. Lines below `least` are dropped.
void set_log_sink(LogSink sink, LogLevel least = LogLevel::kInfo);

/// message key=value …, quoted where a value holds spaces or quotes.
[[nodiscard]] std::string format_text(const LogLine& line);

}  // namespace muster
