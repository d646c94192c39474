// One worker of a fleet, in a process of its own so that it can be killed.
//   election_worker URL NAMESPACE WORKER-ID OPTIONS-AS-JSON
// Prints each event as one line of JSON with the instant on the boot clock, which all processes of
// a host share. Stops cleanly at SIGTERM, and at once, like a crash, when its input ends.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "base/log.h"
#include "coordinator/hub.h"
#include "platform/system_clock.h"
#include "platform/unique_fd.h"

namespace muster {
namespace {

void print(const CoordinatorEvent& event) {
  nlohmann::json line = nlohmann::json::parse(to_json(event));
  line["at"] = boot_now().time_since_epoch().count();
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

/// Until SIGTERM; ends the process when the input ends.
void wait_for_the_end(int signals) {
  while (true) {
    pollfd watched[] = {{signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0) continue;
    if (watched[0].revents != 0) return;
    char ignored = 0;
    if (watched[1].revents != 0 && ::read(STDIN_FILENO, &ignored, 1) <= 0) std::_Exit(0);
  }
}

int run(const std::string& url, const std::string& name_space, const std::string& worker,
        const std::string& json) {
  sigset_t terminate;
  ::sigemptyset(&terminate);
  ::sigaddset(&terminate, SIGTERM);
  // Before any thread is made, so that every one inherits it.
  MUSTER_CHECK(::sigprocmask(SIG_BLOCK, &terminate, nullptr) == 0);
  const UniqueFd signals(::signalfd(-1, &terminate, SFD_CLOEXEC));
  set_log_sink([](const LogLine& line) { std::fprintf(stderr, "%s\n", format_text(line).c_str()); },
               LogLevel::kError);

  auto options = CoordinatorOptions::from_json(json);
  if (options) options->worker_id = WorkerId(worker);
  auto hub = Hub::open(url);
  auto coordinator = !hub       ? hub.error()
                     : !options ? options.error()
                                : (*hub)->coordinator(name_space, *options);
  if (!coordinator) {
    std::fprintf(stderr, "%s\n", coordinator.error().message.c_str());
    return 1;
  }
  (*coordinator)->on_event(print);
  (*coordinator)->start();
  wait_for_the_end(signals.get());
  (*coordinator)->stop();
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: election_worker URL NAMESPACE WORKER-ID OPTIONS-AS-JSON\n");
    return 64;
  }
  return muster::run(argv[1], argv[2], argv[3], argv[4]);
}
