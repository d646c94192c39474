#include "bench/client_agent.h"

#include <atomic>
#include <string>

#include "bench/load.h"
#include "client/node_agent.h"
#include "platform/system_clock.h"
#include "tests/support/musterd_cluster.h"

namespace muster::bench {
namespace {

using namespace client;

constexpr int kNodes = 10'000;
constexpr Duration kRegistrationMax = 5min;
constexpr Duration kMeasured = 30s;  // Three rounds of heartbeats.

NodeSpec spec(int number) {
  NodeSpec s;
  s.id = NodeId("node-" + std::to_string(number));
  s.address = "10.0.0.1";
  s.port = static_cast<std::uint16_t>(1 + number);
  s.type = NodeType::kObject;
  return s;
}

}  // namespace

void bench_agent(Report& report) {
  report.title("An agent with 10,000 nodes at one musterd, a heartbeat of each every 10 s");
  testing::MusterdCluster cluster;
  const auto client = SmartCoordinatorClient::create({cluster.endpoint(0)});
  MUSTER_CHECK(client);
  std::atomic<int> registered = 0;
  std::atomic<int> troubles = 0;
  const auto agent = NodeAgent::start(**client, {}, [&](const AgentEvent& event) {
    ++(event.kind == AgentEventKind::kRegistered ? registered : troubles);
  });
  MUSTER_CHECK(agent);
  const MonoTime began = boot_now();
  const Duration before = process_cpu();
  for (int i = 0; i < kNodes; ++i) MUSTER_CHECK((*agent)->add(spec(i)));
  while (registered < kNodes && boot_now() - began < kRegistrationMax) sleep_for(50ms);
  const double registering_s = std::chrono::duration<double>(boot_now() - began).count();
  const double registering_us =
      static_cast<double>((process_cpu() - before).count()) / 1000 / kNodes;
  // What the last registrations set off is over by then.
  sleep_for(AgentConfig{}.heartbeat_interval);

  const MonoTime from = boot_now();
  const Duration cpu = process_cpu();
  sleep_for(kMeasured);
  const double share = 100 * static_cast<double>((process_cpu() - cpu).count()) /
                       static_cast<double>((boot_now() - from).count());
  report.table({"agent", "figure"},
               {{"nodes registered", std::to_string(registered)},
                {"seconds to register them all", figure(registering_s, 1)},
                {"µs of CPU for a registration", figure(registering_us, 1)},
                {"troubles told of", std::to_string(troubles)},
                {"share of a core, heartbeats and watch", figure(share, 2) + " %"}});
  MUSTER_CHECK(registered == kNodes);
  report.at_most("an agent with 10,000 nodes", share, 3, "% of a core");
  report.data()["agent"] = {
      {"cpu_percent", share}, {"register_s", registering_s}, {"register_us", registering_us}};
}

}  // namespace muster::bench
