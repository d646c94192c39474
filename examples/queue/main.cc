// A queue in the store. Every process with a second argument enqueues it and ends; the others run
// messages, each message in one of them:
//   queue file:///tmp/muster-example
//   queue file:///tmp/muster-example 'to: ann@example.com'
#include <muster/plugins.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

static std::atomic<bool> ended = false;

static void run_messages(const muster::Arbiter& arbiter) {
  muster::CoordinatorOptions options;
  options.startup_jitter_max = muster::Duration(0);
  auto coordinator = muster::GlobalCoordinator::start(arbiter, "mail", options).value();
  auto queue = muster::Queue::open(coordinator).value();
  while (!ended) {
    const auto ran = queue.run_one([](muster::QueueClaim& claim) -> muster::Status {
      if (!claim.valid()) return {muster::Code::kCancelled, "too slow"};
      std::printf("attempt %u: %s\n", claim.attempt(), claim.payload().c_str());
      std::fflush(stdout);
      return muster::Done{};
    });
    if (!ran) std::fprintf(stderr, "%s\n", ran.message().c_str());
    if (!ran || !*ran) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

int main(int argc, char** argv) try {
  std::signal(SIGTERM, [](int) { ended = true; });
  auto arbiter = muster::Arbiter::open(argc > 1 ? argv[1] : "").value();
  if (argc == 3) {
    const auto id = muster::Queue::open(arbiter, "mail").value().enqueue(argv[2]).value();
    std::printf("%s\n", id.c_str());
  } else {
    run_messages(arbiter);
  }
  return 0;
} catch (const muster::BadResult& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 64;
}
