#include <sys/epoll.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/log.h"
#include "candidate/guarded_command.h"
#include "platform/event_loop.h"
#include "platform/signals.h"
#include "server/config/config.h"
#include "server/engine/managed_engine.h"

/// musterd as far as its engine goes: takes musterd's options, says "ready URL" or "failed WHY",
/// and stops cleanly when its standard input ends.
int main(int argc, char** argv) {
  using namespace muster;
  set_log_sink({});
  ignore_broken_pipes();
  const auto say = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  const auto command =
      read_server_config({argv + 1, argv + argc}, [](std::string_view) { return std::nullopt; });
  if (!command) return say("failed " + command.error().message), 1;
  EventLoop loop;
  auto options = engine::engine_options(command->config, "127.0.0.1:9");
  options.start_timeout = 5s;
  ManagedEngine managed(loop, options);
  managed.start(
      [&](const Result<std::string>& url) {
        say(url ? "ready " + *url : "failed " + url.error().message);
      },
      [&](const Error& error) { say("ended " + error.message); });
  loop.watch_fd(STDIN_FILENO, EPOLLIN, [&](std::uint32_t) {
    char byte = 0;
    if (::read(STDIN_FILENO, &byte, 1) > 0) return;
    loop.unwatch_fd(STDIN_FILENO);
    managed.stop([&] { loop.stop(); });
  });
  loop.run();
}
