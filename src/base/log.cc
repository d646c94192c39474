#include "base/log.h"

#include <cstdio>
#include <memory>

#include "base/mutex.h"

namespace muster {
namespace {

struct SinkState {
  LogSink sink = [](const LogLine& line) {
    std::fprintf(stderr, "%s %s\n", to_string(line.level), format_text(line).c_str());
  };
  LogLevel least = LogLevel::kInfo;
};

Mutex g_mutex;
std::shared_ptr<const SinkState> g_state GUARDED_BY(g_mutex) = std::make_shared<SinkState>();

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
    append_value(out, value);
  }
  return out;
}

void log(const LogLine& line) {
  std::shared_ptr<const SinkState> state;
  {
    MutexLock lock(g_mutex);
    state = g_state;
  }
  if (state->sink && line.level >= state->least) state->sink(line);
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
  state->least = least;
  MutexLock lock(g_mutex);
  g_state = std::move(state);
}

}  // namespace muster
