// Leads once in memory, tries a server that is not there, and simulates a store: each part of the
// library is linked.
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <variant>

#include <muster/client/coordinator_client.h>
#include <muster/coordinator/hub.h>
#include <muster/sim/faulty_store.h>
#include <muster/sim/world.h>

/// An hour of simulated time in which a store that is slow takes one object.
bool simulate() {
  using namespace std::chrono_literals;
  muster::sim::World world(1);
  muster::sim::Process process(world, 1.0, 0s);
  muster::sim::FaultyStore store(world, process, std::make_shared<muster::sim::SharedStore>());
  bool stored = false;
  process.post([&] {
    store.put("key", "body", muster::Precondition::absent(), process.now() + 1min,
              [&](const muster::Result<muster::Revision>& done) { stored = done.ok(); });
  });
  world.run(1h);
  process.kill();
  return stored;
}

int main() {
  auto hub = muster::Hub::open("memory:");
  if (!hub) return 1;
  muster::CoordinatorOptions options;
  options.startup_jitter_max = {};
  auto coordinator = (*hub)->coordinator("outside", options);
  if (!coordinator) return 2;
  std::promise<void> leads;
  std::once_flag once;
  (*coordinator)->on_event([&](const muster::CoordinatorEvent& event) {
    // The last events may come while main() ends.
    if (!std::holds_alternative<muster::TermBeganEvent>(event)) return;
    std::call_once(once, [&] { leads.set_value(); });
  });
  (*coordinator)->start();
  if (leads.get_future().wait_for(std::chrono::seconds(30)) != std::future_status::ready) return 3;
  (*coordinator)->stop();

  auto client = muster::client::CoordinatorClient::connect("127.0.0.1:1");
  if (!client) return 4;
  const auto health = (*client)->call(muster::client::HealthCheck{});
  if (health) return 5;
  if (!simulate()) return 6;
  std::printf("%s\n", health.error().message.c_str());
  return 0;
}
