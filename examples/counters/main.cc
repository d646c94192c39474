// Counts, in as many processes as there are, and never wrongly: each process adds its second
// argument, and the one that has none leads and prints the total until it is ended.
//   counters file:///tmp/muster-example
//   counters file:///tmp/muster-example 3
#include <muster/plugins.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

static std::atomic<bool> ended = false;

static void fold(const muster::Arbiter& arbiter) {
  muster::CoordinatorOptions options;
  options.startup_jitter_max = muster::Duration(0);
  auto coordinator = muster::GlobalCoordinator::start(arbiter, "shop", options).value();
  muster::CounterOptions often;
  often.fold_interval = std::chrono::milliseconds(200);
  auto counters = muster::Counters::open(coordinator, often).value();
  for (long long last = -1; !ended;) {
    const long long total = counters.consolidated("orders").value();
    if (total != last) std::printf("%lld orders\n", last = total);
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

int main(int argc, char** argv) try {
  std::signal(SIGTERM, [](int) { ended = true; });
  auto arbiter = muster::Arbiter::open(argc > 1 ? argv[1] : "").value();
  if (argc < 3) {
    fold(arbiter);
  } else {
    auto counters = muster::Counters::open(arbiter, "shop").value();
    const auto added = counters.add("orders", std::atoll(argv[2]));
    if (!added) std::printf("%s\n", added.message().c_str());
    std::printf("%lld orders\n", static_cast<long long>(counters.read("orders").value()));
  }
  return 0;
} catch (const muster::BadResult& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 64;
}
