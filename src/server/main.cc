#include <signal.h>

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
#include "platform/signal_watch.h"
#include "platform/signals.h"
#include "platform/system_clock.h"
#include "server/config.h"
#include "server/rpc/rpc_server.h"
#include "server/server.h"

namespace muster {
namespace {

constexpr int kUsage = 64;
constexpr int kFailed = 70;

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void complain(const std::string& sentence) {
  std::cerr << "musterd: " + sentence + "\n";
}

/// One line on standard error for each, repeats left out.
LogSink log_sink(const ServerConfig& config, server::Metrics* metrics = nullptr) {
  struct State {
    Mutex mutex;
    LogThrottle throttle GUARDED_BY(mutex);
  };
  return [state = std::make_shared<State>(), json = config.log_json, id = config.id,
          metrics](const LogLine& line) {
    LogThrottle::Verdict verdict;
    {
      MutexLock lock(state->mutex);
      verdict = state->throttle.judge(line, boot_now());
    }
    if (!verdict.pass) {
      if (metrics != nullptr) metrics->log_suppressed.Increment();
      return;
    }
    LogLine whole = line;
    if (verdict.left_out > 0) {
      whole.fields.emplace_back("left_out", std::to_string(verdict.left_out));
    }
    if (json) {
      whole.fields.emplace_back("server", id);
      std::cerr << format_json(whole, system_wall_now()) + "\n";
    } else {
      std::cerr << "musterd: " + std::string(to_string(line.level)) + ": " + format_text(whole) +
                       "\n";
    }
  };
}

/// What an operator may change while a server runs, read as it was at the start.
void reload(Server& server, const std::vector<std::string>& words) {
  const auto command = read_server_config(words, environment);
  if (!command) {
    return log_warn("the configuration stays as it was", {{"reason", command.error().message}});
  }
  log_info("reloading", {{"server", command->config.id}});
  server.reload(command->config);
}

/// Runs one server until a signal, or until it cannot go on; the loop lives on this thread.
int run(const ServerConfig& config, const std::vector<std::string>& words, StopSignals& signals) {
  if (!config.data_dir.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(config.data_dir, failed);
    if (failed) {
      complain("--data-dir " + config.data_dir + " cannot be made: " + failed.message());
      return kUsage;
    }
  }
  EventLoop loop;
  int code = 0;
  std::unique_ptr<Server> server;
  const SignalWatch hangups(loop, {SIGHUP}, [&](int) { reload(*server, words); });
  server = std::make_unique<Server>(
      config, Server::Surroundings{loop, system_random(),
                                   [&](const Error& error) {
                                     complain(error.message);
                                     code = kFailed;
                                     signals.request();
                                   },
                                   [&](rlog::Index last) {
                                     std::cout << "musterd " << config.id << ": " << config.restore
                                               << " is restored, up to entry " << last.value()
                                               << "; start this server without --restore"
                                               << std::endl;
                                     signals.request();
                                   },
                                   server::page_files()});
  set_log_sink(log_sink(config, &server->metrics()), config.log_level);
  const auto address = server->start();
  if (!address) {
    complain(address.error().message);
    return kFailed;
  }
  std::cout << "musterd " << config.id << ": gRPC on " << *address
            << (config.insecure ? " (plaintext, this machine only)" : " (mutual TLS)") << std::endl;
  if (!server->http_address().empty()) {
    std::cout << "musterd " << config.id << ": page and metrics on " << server->http_address()
              << "/" << std::endl;
  }
  std::thread waiter([&] {
    signals.wait();
    loop.post([&] { server->stop([&] { loop.stop(); }); });
  });
  loop.run();
  waiter.join();
  // Its metrics go with it, and it may have more to say.
  set_log_sink(log_sink(config));
  server.reset();
  return code;
}

int main(const std::vector<std::string>& words) {
  rpc::require_tls13();
  StopSignals signals;
  ignore_broken_pipes();
  set_log_sink([](const LogLine& line) {
    std::cerr << "musterd: " + std::string(to_string(line.level)) + ": " + format_text(line) + "\n";
  });
  rpc::log_what_grpc_says();
  const auto command = read_server_config(words, environment);
  if (!command) {
    complain(command.error().message);
    return kUsage;
  }
  if (command->help || command->version) {
    std::cout << (command->help ? server_help() : std::string("musterd " MUSTER_VERSION "\n"));
    return 0;
  }
  return run(command->config, words, signals);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  return muster::main(std::vector<std::string>(argv + 1, argv + argc));
}
