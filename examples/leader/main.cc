// Leader election. Run it twice, in two terminals, and stop the one that leads:
//   leader file:///tmp/muster-example
#include <csignal>
#include <cstdio>

#include "coordinator/hub.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: leader ARBITER-URL\n");
    return 64;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto hub = muster::Hub::open(argv[1]);
  if (!hub) {
    std::fprintf(stderr, "%s\n", hub.error().message.c_str());
    return 69;
  }
  muster::CoordinatorOptions options;
  options.startup_jitter_max = {};
  auto coordinator = (*hub)->coordinator("example", options);
  if (!coordinator) {
    std::fprintf(stderr, "%s\n", coordinator.error().message.c_str());
    return 64;
  }
  (*coordinator)->on_event([](const muster::CoordinatorEvent& event) {
    std::printf("%s\n", muster::to_json(event).c_str());
    std::fflush(stdout);
  });
  (*coordinator)->start();

  int signal = 0;
  sigwait(&signals, &signal);
  (*coordinator)->stop();  // Hands over before it returns.
  return 0;
}
