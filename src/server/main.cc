#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/log_throttle.h"
#include "base/mutex.h"
#include "platform/event_loop.h"
#include "platform/line_writer.h"
#include "platform/process.h"
#include "platform/signal_watch.h"
#include "platform/signals.h"
#include "platform/system_clock.h"
#include "server/config/config.h"
#include "server/server.h"

namespace muster {
namespace {

constexpr int kUsage = 64;
constexpr int kUnavailable = 69;  ///< May pass: an address in use, a name not known yet.
constexpr int kFailed = 70;

int exit_code(const Error& error) {
  return error.code == Errc::kUnavailable ? kUnavailable : kFailed;
}

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// What this process says. Nothing here waits for a reader: the loop has a lease to renew.
struct Output {
  LineWriter out{STDOUT_FILENO};
  LineWriter err{STDERR_FILENO};

  /// True once everything was written; false when that takes too long.
  [[nodiscard]] bool drain() { return out.drain(1s) && err.drain(1s); }
};
/// Shared with threads that may log to the very end.
using OutputPtr = std::shared_ptr<Output>;

void complain(Output& output, const std::string& sentence) {
  output.err.write("musterd: " + sentence + "\n");
}

std::string as_text(const LogLine& line) {
  return "musterd: " + std::string(to_string(line.level)) + ": " + format_text(line) + "\n";
}

/// One line on standard error for each, repeats left out. Any thread.
class ServerLog {
 public:
  ServerLog(const ServerConfig& config, OutputPtr output)
      : json_(config.log_json), id_(config.id), output_(std::move(output)) {}

  /// Where it is counted what was not written; null: nowhere.
  void count_in(server::Metrics* metrics) MUSTER_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    metrics_ = metrics;
  }
  void write(LogLine line) MUSTER_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      const LogThrottle::Verdict verdict = throttle_.judge(line, boot_now());
      if (!verdict.pass) {
        if (metrics_ != nullptr) metrics_->log_suppressed.add();
        return;
      }
      if (verdict.left_out > 0) {
        line.fields.emplace_back("left_out", std::to_string(verdict.left_out));
      }
    }
    if (json_) line.fields.emplace_back("server", id_);
    if (output_->err.write(json_ ? format_json(line, system_wall_now()) + "\n" : as_text(line))) {
      return;
    }
    MutexLock lock(mutex_);
    if (metrics_ != nullptr) metrics_->log_lost.add();
  }

 private:
  const bool json_;
  const std::string id_;
  const OutputPtr output_;
  Mutex mutex_;
  LogThrottle throttle_ MUSTER_GUARDED_BY(mutex_);
  server::Metrics* metrics_ MUSTER_GUARDED_BY(mutex_) = nullptr;
};

/// What an operator may change while a server runs, read as it was at the start.
void reload(Server& server, const ServerCommand& started, const std::vector<std::string>& words) {
  const auto command = read_server_config(words, environment);
  if (!command) {
    return log_warn("the configuration was not changed", {{"reason", command.error().message}});
  }
  log_info("reloading", {{"server", started.config.id}});
  server.reload(command->config);
  const auto ignored = needs_restart(started.given, command->given);
  if (ignored.empty()) return;
  std::string names;
  for (const std::string& name : ignored) names += (names.empty() ? "" : ", ") + name;
  log_warn("not applied; restart this server for these options", {{"options", names}});
}

/// Runs one server until a signal, or until it cannot go on; the loop lives on this thread.
int run(const ServerCommand& command, const std::vector<std::string>& words, StopSignals& signals,
        const OutputPtr& output) {
  const ServerConfig& config = command.config;
  if (!config.data_dir.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(config.data_dir, failed);
    if (failed) {
      complain(*output, "--data-dir " + config.data_dir + " cannot be made: " + failed.message());
      return kUsage;
    }
  }
  const auto say = [&](const std::string& text) {
    output->out.write("musterd " + config.id + ": " + text + "\n");
  };
  const auto log = std::make_shared<ServerLog>(config, output);
  set_log_sink([log](const LogLine& line) { log->write(line); }, config.log_level);
  EventLoop loop;
  int code = 0;
  std::unique_ptr<Server> server;
  const SignalWatch hangups(loop, {SIGHUP}, [&](int) { reload(*server, command, words); });
  server = std::make_unique<Server>(
      config, Server::Surroundings{loop, system_random(),
                                   [&](const Error& error) {
                                     complain(*output, error.message);
                                     code = exit_code(error);
                                     signals.request();
                                   },
                                   [&](rlog::Index last) {
                                     say(config.restore + " is restored, up to entry " +
                                         std::to_string(last.value()) +
                                         "; start this server without --restore");
                                     signals.request();
                                   },
                                   server::page_files()});
  log->count_in(&server->metrics());
  const auto address = server->start();
  if (!address) {
    complain(*output, address.error().message);
    log->count_in(nullptr);
    return exit_code(address.error());
  }
  say("gRPC on " + *address +
      (config.insecure ? " (plaintext, this machine only)" : " (mutual TLS)"));
  if (!server->http_address().empty()) say("page and metrics on " + server->http_address() + "/");
  std::thread waiter([&] {
    signals.wait();
    loop.post([&] { server->stop([&] { loop.stop(); }); });
  });
  loop.run();
  waiter.join();
  // Its metrics go with it, and it may have more to say.
  log->count_in(nullptr);
  server.reset();
  return code;
}

int start(const std::vector<std::string>& words, StopSignals& signals, const OutputPtr& output) {
  const auto command = read_server_config(words, environment);
  if (!command) {
    complain(*output, command.error().message);
    return kUsage;
  }
  if (command->help || command->version) {
    std::cout << (command->help ? server_help() : std::string("musterd " MUSTER_VERSION "\n"));
    return 0;
  }
  return run(*command, words, signals, output);
}

int main(const std::vector<std::string>& words) {
  open_missing_standard_descriptors();
  StopSignals signals;
  ignore_broken_pipes();
  ignore_file_size_signal();
  const auto output = std::make_shared<Output>();
  set_log_sink([output](const LogLine& line) { output->err.write(as_text(line)); });
  const int code = start(words, signals, output);
  // A reader that has stopped reading holds up the threads that write, but not this process.
  const bool written = output->drain();
  set_log_sink({});
  if (!written || !output->drain()) ::_exit(code);
  return code;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  return muster::main(std::vector<std::string>(argv + 1, argv + argc));
}
