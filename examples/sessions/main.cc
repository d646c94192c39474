// Sessions that end by themselves. This process renews one until it is ended with SIGTERM, and then
// waits until the leader, here the same process, has removed it.
//   sessions file:///tmp/muster-example
#include <muster/plugins.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

static std::atomic<bool> ended = false;

int main(int argc, char** argv) try {
  std::signal(SIGTERM, [](int) { ended = true; });
  auto arbiter = muster::Arbiter::open(argc == 2 ? argv[1] : "").value();
  muster::CoordinatorOptions options;
  options.startup_jitter_max = muster::Duration(0);
  auto coordinator = muster::GlobalCoordinator::start(arbiter, "sessions", options).value();
  muster::TtlOptions often;
  often.prefix = "sessions/";
  often.interval = 200ms;
  auto ttl = muster::Ttl::start(coordinator, often).value();

  auto session = muster::TtlRecord::create(arbiter, "sessions/", R"({"user":"ann"})", 5s).value();
  std::printf("%s\n", session.key().c_str());
  std::fflush(stdout);
  while (!ended) {
    if (const auto renewed = session.renew(5s); !renewed) {
      std::printf("%s\n", renewed.message().c_str());
      return 1;
    }
    std::this_thread::sleep_for(200ms);
  }
  while (ttl.metrics().removed == 0) std::this_thread::sleep_for(100ms);
  std::printf("removed: %s\n", session.renew(5s).is(muster::Code::kNotFound) ? "yes" : "no");
  return 0;
} catch (const muster::BadResult& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 64;
}
