#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <memory>

#include "base/mutex.h"
#include "base/text.h"

namespace muster {
namespace {

struct SinkState {
  LogSink sink = [](const LogLine& line) {
    std::fprintf(stderr, "%s %s\n", to_string(line.level), format_text(line).c_str());
  };
};

std::atomic<LogLevel> g_least{LogLevel::kInfo};
Mutex g_mutex;
std::shared_ptr<const SinkState> g_state MUSTER_GUARDED_BY(g_mutex) = std::make_shared<SinkState>();

void append_value(std::string& out, const std::string& value) {
  if (!value.empty() && value.find_first_of(" \"=\n\t\\") == std::string::npos) {
    out += value;
    return;
  }
  out += '"';
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

/// As append_value(), and a terminal shows all of it: what a store or a peer says may be hostile.
void append_shown(std::string& out, const std::string& value) {
  std::string quoted;
  append_value(quoted, value);
  out += has_controls(quoted) ? without_controls(quoted) : quoted;
}

}  // namespace

const char* to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

std::string format_text(const LogLine& line) {
  std::string out(line.message);
  for (const auto& [key, value] : line.fields) {
    out += ' ';
    out += key;
    out += '=';
    append_shown(out, value);
  }
  return out;
}

void append_json(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  // JSON is UTF-8: what is not becomes question marks.
  const bool text_ok = is_utf8(text);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += byte >= 0x80 && !text_ok ? '?' : c;
    }
  }
  out += '"';
}

std::string format_json(const LogLine& line, WallTime time) {
  std::string out = "{\"time\":" + std::to_string(to_ms(time)) + ",\"level\":";
  append_json(out, to_string(line.level));
  out += ",\"message\":";
  append_json(out, line.message);
  for (const auto& [key, value] : line.fields) {
    out += ',';
    append_json(out, key);
    out += ':';
    append_json(out, value);
  }
  return out + '}';
}

bool log_enabled(LogLevel level) {
  return level >= g_least.load(std::memory_order_relaxed);
}

void set_log_level(LogLevel least) {
  g_least.store(least);
}

LogLevel log_level() {
  return g_least.load();
}

Result<LogLevel> parse_log_level(std::string_view text) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError}) {
    if (text == to_string(level)) return level;
  }
  return {Errc::kInvalid, "a log level is debug, info, warn or error"};
}

void log(const LogLine& line) {
  if (!log_enabled(line.level)) return;
  std::shared_ptr<const SinkState> state;
  {
    MutexLock lock(g_mutex);
    state = g_state;
  }
  if (state->sink) state->sink(line);
}

void log_debug(std::string_view message,
               std::vector<std::pair<std::string_view, std::string>> fields) {
  if (log_enabled(LogLevel::kDebug)) log({LogLevel::kDebug, message, std::move(fields)});
}
void log_info(std::string_view message,
              std::vector<std::pair<std::string_view, std::string>> fields) {
  log({LogLevel::kInfo, message, std::move(fields)});
}
void log_warn(std::string_view message,
              std::vector<std::pair<std::string_view, std::string>> fields) {
  log({LogLevel::kWarn, message, std::move(fields)});
}
void log_error(std::string_view message,
               std::vector<std::pair<std::string_view, std::string>> fields) {
  log({LogLevel::kError, message, std::move(fields)});
}

void set_log_sink(LogSink sink, LogLevel least) {
  auto state = std::make_shared<SinkState>();
  state->sink = std::move(sink);
  set_log_level(least);
  MutexLock lock(g_mutex);
  g_state = std::move(state);
}

}  // namespace muster
