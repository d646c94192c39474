#include <algorithm>

#include "bench/process_usage.h"
#include "bench/report.h"
#include "bench/server_parts.h"
#include "bench/server_subjects.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::bench {
namespace {

constexpr std::size_t kNodesStanding = 100'000;

void measure_idle(Report& report, RpcPump& pump, pid_t server) {
  pump.run_for(5s);  // Past the start.
  constexpr Duration kTime = 10s;
  const CpuMeter meter(server);
  pump.run_for(kTime);
  const double percent = meter.used_us() / 1e6 / std::chrono::duration<double>(kTime).count() * 100;
  const double megabytes = rss_of(server) / 1e6;
  report.data()["idle"] = {{"core_percent", percent}, {"rss_mb", megabytes}};
  report.at_most("idle server, of one core", percent, 1, "%");
  report.at_most("idle server, RSS", megabytes, 40, "MB");
}

/// A client that asks all the time notices when the server does nothing but its snapshot.
void measure_snapshot(Report& report, RpcPump& pump, const LinkPtr& channel, Duration time) {
  register_nodes(pump, channel, 0, kNodesStanding);
  const auto health = [&](std::size_t, std::function<void()> done) {
    unary<v1::HealthCheckResponse>(
        channel, "/muster.v1.CoordinatorService/HealthCheck", v1::HealthCheckRequest(), 30s,
        [done = std::move(done)](const CallEnd& status, v1::HealthCheckResponse&) {
          MUSTER_CHECK(status.ok());
          done();
        });
  };
  // Writes go on beside it, so that snapshots become due.
  bool over = false;
  std::size_t writes = 0;
  std::function<void()> write = [&] {
    if (over) return;
    muster_put(channel, 0, "value", [&] {
      ++writes;
      write();
    });
  };
  write();
  const LoadResult load = closed_loop(pump, 1, time, health);
  over = true;
  pump.run_for(1s);
  const double worst = percentile(load.latencies_ms, 1);
  report.note(std::to_string(load.answered) + " answers and " + std::to_string(writes) +
              " writes while snapshots of 100,000 nodes were made");
  report.data()["snapshot"] = {{"answers", load.answered},
                               {"writes", writes},
                               {"p50_ms", percentile(load.latencies_ms, 0.5)},
                               {"p999_ms", percentile(load.latencies_ms, 0.999)},
                               {"worst_ms", worst}};
  report.at_most("worst answer while 100,000 nodes are snapshotted", worst, 10, "ms");
}

}  // namespace

void measure_standing(Report& report, const ServerRun& run) {
  report.title("a server that stands by, and one that makes snapshots of 100,000 nodes");
  const auto owner = own_pump();
  RpcPump& pump = *owner;
  {
    ServerPair servers(1, run.tmpfs);
    measure_idle(report, pump, servers.musterd.pid(0));
  }
  // A snapshot every 200 entries: several within the measurement.
  ServerPair servers(1, run.tmpfs, {"--snapshot-entries", "200"});
  const auto channel = pump.connect_all(servers.musterd.endpoint(0), 1).front();
  measure_snapshot(report, pump, channel, std::max<Duration>(run.time, 10s));
}

}  // namespace muster::bench
