#include <muster/log.h>
#include <muster/status.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "api/connection.h"
#include "base/log.h"

namespace muster::api {
namespace {

pub::Code public_code(Errc code) {
  switch (code) {
    case Errc::kNotFound:
      return pub::Code::kNotFound;
    case Errc::kUnchanged:
      return pub::Code::kUnchanged;
    case Errc::kConflict:
      return pub::Code::kConflict;
    case Errc::kAmbiguous:
      return pub::Code::kAmbiguous;
    case Errc::kThrottled:
      return pub::Code::kThrottled;
    case Errc::kUnavailable:
      return pub::Code::kUnavailable;
    case Errc::kDenied:
      return pub::Code::kDenied;
    case Errc::kUnsupported:
      return pub::Code::kUnsupported;
    case Errc::kInvalid:
      return pub::Code::kInvalid;
    case Errc::kCorrupt:
      return pub::Code::kCorrupt;
    case Errc::kCancelled:
      return pub::Code::kCancelled;
  }
  return pub::Code::kInvalid;
}

/// Writes each message once, and each kind of trouble.
class OnceSink {
 public:
  void operator()(const LogLine& line) {
    std::string what(line.message);
    for (const auto& [name, value] : line.fields) {
      if (name == "kind") what += " " + value;
    }
    {
      const std::lock_guard lock(mutex_);
      if (!told_.insert(std::move(what)).second) return;
    }
    std::fprintf(stderr, "muster: %s: %s\n", to_string(line.level), format_text(line).c_str());
  }

 private:
  std::mutex mutex_;
  std::set<std::string> told_;  // Fixed texts, so they are few.
};

std::once_flag g_log_chosen;

}  // namespace

pub::Error to_public(const Error& error) {
  return {public_code(error.code), error.message};
}

pub::Status to_public(const Status& status) {
  if (!status) return to_public(status.error());
  return pub::Done{};
}

pub::Error waits_for_callbacks(const char* call) {
  return {pub::Code::kInvalid, std::string(call) +
                                   " waits for callbacks, so it cannot be called in one; "
                                   "call it on a thread of the program"};
}

void quiet_log() {
  std::call_once(g_log_chosen, [] {
    set_log_sink([once = std::make_shared<OnceSink>()](const LogLine& line) { (*once)(line); },
                 LogLevel::kError);
  });
}

}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

const char* version() {
  return MUSTER_PROJECT_VERSION;
}

const char* to_string(Code code) {
  switch (code) {
    case Code::kNotFound:
      return "kNotFound";
    case Code::kUnchanged:
      return "kUnchanged";
    case Code::kConflict:
      return "kConflict";
    case Code::kAmbiguous:
      return "kAmbiguous";
    case Code::kThrottled:
      return "kThrottled";
    case Code::kUnavailable:
      return "kUnavailable";
    case Code::kDenied:
      return "kDenied";
    case Code::kUnsupported:
      return "kUnsupported";
    case Code::kInvalid:
      return "kInvalid";
    case Code::kCorrupt:
      return "kCorrupt";
    case Code::kCancelled:
      return "kCancelled";
    case Code::kTimeout:
      return "kTimeout";
  }
  return "unknown";
}

BadResult::BadResult(Error error)
    : std::runtime_error(error.message.empty() ? to_string(error.code) : error.message),
      code_(error.code) {}

BadResult::~BadResult() = default;

void throw_bad_result(const Error& error) {
  throw BadResult(error);
}

void set_log_sink(std::function<void(const LogLine&)> sink, LogLevel least) {
  std::call_once(api::g_log_chosen, [] {});
  muster::LogSink inner;
  if (sink) {
    inner = [sink = std::move(sink)](const muster::LogLine& line) {
      LogLine copy{static_cast<LogLevel>(line.level), std::string(line.message), {}};
      for (const auto& [name, value] : line.fields) copy.fields.emplace_back(name, value);
      sink(copy);
    };
  }
  muster::set_log_sink(std::move(inner), static_cast<muster::LogLevel>(least));
}

static_assert(static_cast<int>(LogLevel::kError) == static_cast<int>(muster::LogLevel::kError));

MUSTER_END_NAMESPACE
