#include "bench/election_steady.h"

#include <algorithm>
#include <future>
#include <mutex>

#include "base/check.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

// Public list prices of S3 Standard in us-east-1, dollars for a request.
constexpr double kPriceOfGet = 0.0004 / 1000;
constexpr double kPriceOfPut = 0.005 / 1000;  // Lists cost as much.

class IdlePlugin final : public CoordinatorPlugin {
 public:
  explicit IdlePlugin(std::size_t number) : name_("idle-" + std::to_string(number)) {}
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  std::string name_;
};

std::unique_ptr<Hub> open_hub(const std::string& url) {
  auto hub = Hub::open(url);
  MUSTER_CHECK(hub.ok());
  return std::move(*hub);
}

std::shared_ptr<GlobalCoordinator> join(Hub& hub, std::size_t number, CoordinatorOptions options) {
  options.worker_id = WorkerId("worker-" + std::to_string(1000 + number));
  auto coordinator = hub.coordinator("fleet", options);
  MUSTER_CHECK(coordinator.ok());
  return std::move(*coordinator);
}

}  // namespace

double SteadyFleet::Result::per_cycle() const {
  return static_cast<double>(requests.requests) / static_cast<double>(cycles);
}

double SteadyFleet::Result::monthly_cost() const {
  const double month = 30 * 86400 / std::chrono::duration<double>(wall).count();
  return month * (static_cast<double>(requests.gets) * kPriceOfGet +
                  static_cast<double>(requests.puts + requests.others()) * kPriceOfPut);
}

SteadyFleet::SteadyFleet(Options options) : options_(std::move(options)) {
  for (std::size_t i = 0; i < options_.workers; ++i) {
    hubs_.push_back(open_hub(options_.url));
    workers_.push_back(join(*hubs_.back(), i, {}));
    for (std::size_t p = 0; p < options_.plugins; ++p) {
      workers_.back()->subscribe(std::make_shared<IdlePlugin>(p));
    }
    workers_.back()->start();
  }
}

const GlobalCoordinator* SteadyFleet::leader() const {
  for (const auto& worker : workers_) {
    if (worker->is_leader()) return worker.get();
  }
  return nullptr;
}

void SteadyFleet::settle() {
  const auto settled = [this](const auto& worker) {
    return worker->leader() && worker->active_workers().size() == workers_.size() &&
           worker->metrics().heartbeat_count >= 4;
  };
  const MonoTime limit = boot_now() + 2min;
  while (!std::all_of(workers_.begin(), workers_.end(), settled)) {
    MUSTER_CHECK(boot_now() < limit);
    sleep_for(100ms);
  }
}

std::uint64_t SteadyFleet::await_beat() const {
  const GlobalCoordinator* leading = leader();
  MUSTER_CHECK(leading != nullptr);
  const auto before = leading->metrics().heartbeat_count;
  auto count = before;
  while (count == before) {
    sleep_for(50ms);
    count = leading->metrics().heartbeat_count;
  }
  // What comes with a heartbeat is sent when it ends: the worker's file and the list.
  sleep_for(500ms);
  return count;
}

SteadyFleet::Snapshot SteadyFleet::look() const {
  Snapshot seen;
  for (const auto& worker : workers_) {
    const CoordinatorMetrics metrics = worker->metrics();
    seen.cycles += metrics.heartbeat_count;
    seen.failures += metrics.heartbeat_failures;
    seen.epoch = std::max(seen.epoch, worker->epoch().value());
  }
  seen.requests = count_requests(options_.admin_socket);
  seen.at = boot_now();
  return seen;
}

SteadyFleet::Result SteadyFleet::measure(Duration window) {
  const std::uint64_t first_beat = await_beat();
  const Snapshot before = look();
  sleep_for(window);
  while ((await_beat() - first_beat) % 2 != 0) continue;
  const Snapshot after = look();
  return {after.cycles - before.cycles, after.requests - before.requests, after.at - before.at,
          after.failures - before.failures, after.epoch - before.epoch};
}

double time_to_first_leader(const std::string& url, std::size_t workers) {
  std::promise<MonoTime> led;
  std::once_flag once;
  CoordinatorOptions options;
  options.startup_jitter_max = 0s;
  std::vector<std::unique_ptr<Hub>> hubs;
  std::vector<std::shared_ptr<GlobalCoordinator>> members;
  for (std::size_t i = 0; i < workers; ++i) {
    hubs.push_back(open_hub(url));
    members.push_back(join(*hubs.back(), i, options));
    members.back()->on_event([&](const CoordinatorEvent& event) {
      if (!std::holds_alternative<TermBeganEvent>(event)) return;
      std::call_once(once, [&] { led.set_value(boot_now()); });
    });
  }
  const MonoTime began = boot_now();
  for (const auto& member : members) member->start();
  const MonoTime then = led.get_future().get();
  // A worker that stops may be succeeded: the hubs end before what the listeners use.
  members.clear();
  hubs.clear();
  return std::chrono::duration<double>(then - began).count();
}

}  // namespace muster::bench
