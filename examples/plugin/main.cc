// Leader-only work: every worker runs this, one of them counts, and the count never goes back,
// because each write carries the epoch of its term to the place that is written.
//   plugin file:///tmp/muster-example
#include <csignal>
#include <cstdio>

#include "coordinator/fenced_store.h"
#include "coordinator/hub.h"
#include "platform/system_clock.h"

class Counting final : public muster::CoordinatorPlugin {
 public:
  explicit Counting(muster::SyncStore& store) : fenced_(store, muster::system_random(), this) {}
  std::string name() const override { return "counting"; }
  muster::Duration work_interval() const override { return std::chrono::milliseconds(200); }

  void coordinator_work(const muster::LeaseGuard& guard) override {
    const auto last = fenced_.get("example/count");
    const std::string next = last ? std::to_string(std::stoi(*last->body) + 1) : "1";
    if (!guard.valid()) return;  // The lease has ended: the rest is for another worker.
    const auto written = fenced_.put("example/count", next, guard.epoch());
    std::printf("%s\n", written ? next.c_str() : written.error().message.c_str());
    std::fflush(stdout);
  }

 private:
  muster::FencedStore fenced_;
};

int main(int argc, char** argv) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto hub = muster::Hub::open(argc == 2 ? argv[1] : "");
  if (!hub) {
    std::fprintf(stderr, "%s\n", hub.error().message.c_str());
    return 64;
  }
  muster::CoordinatorOptions options;
  options.startup_jitter_max = {};
  const auto coordinator = (*hub)->coordinator("counting", options).value();
  coordinator->subscribe(std::make_shared<Counting>((*hub)->store()));
  coordinator->start();

  int signal = 0;
  sigwait(&signals, &signal);
  coordinator->stop();
  return 0;
}
