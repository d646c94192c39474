// How cost grows: with nodes, watchers, workers and the size of the state. No bars: curves.
//   bench_scale [LARGEST NUMBER OF NODES]
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "bench/election_steady.h"
#include "bench/process_usage.h"
#include "bench/report.h"
#include "bench/server_subjects.h"
#include "core/cluster/snapshot.h"
#include "muster/v1/coordinator.pb.h"
#include "platform/system_clock.h"
#include "tests/support/radosgw.h"

namespace muster::bench {
namespace {

using Beats = RpcStream<v1::HeartbeatBatch, v1::HeartbeatBatchResponse>;
using Watch = RpcStream<v1::WatchTopologyRequest, v1::TopologyUpdate>;
using Line = std::vector<std::pair<double, double>>;

constexpr std::size_t kNodesPerMessage = 100;

double ms_since(MonoTime began) {
  return std::chrono::duration<double, std::milli>(boot_now() - began).count();
}

/// One heartbeat of each node, a hundred in a message.
void beat_all(RpcPump& pump, Beats& stream, std::size_t nodes, std::size_t& answered) {
  answered = 0;
  for (std::size_t begin = 0; begin < nodes; begin += kNodesPerMessage) {
    v1::HeartbeatBatch batch;
    for (std::size_t i = begin; i < std::min(nodes, begin + kNodesPerMessage); ++i) {
      auto* beat = batch.add_heartbeats();
      beat->set_node_id(node_id(i));
      beat->set_generation_id(generation_of(i));
    }
    stream.write(batch);
  }
  const std::size_t messages = (nodes + kNodesPerMessage - 1) / kNodesPerMessage;
  pump.run_until([&] { return answered == messages; });
}

void scale_nodes(Report& report, std::size_t largest) {
  ServerPair servers(1, true);
  const auto owner = own_pump();
  RpcPump& pump = *owner;
  const auto channel = pump.connect_all(servers.musterd.endpoint(0), 1).front();
  std::size_t answered = 0;
  Beats stream(channel, "/muster.v1.CoordinatorService/HeartbeatStream",
               [&](v1::HeartbeatBatchResponse&) { ++answered; });
  Line cpu;
  Line memory;
  Line full;
  std::size_t registered = 0;
  for (std::size_t nodes = 100; nodes <= largest; nodes *= 10) {
    register_nodes(pump, channel, registered, nodes);
    registered = nodes;
    const CpuMeter meter(servers.musterd.pid(0));
    const std::size_t rounds = std::max<std::size_t>(1, 20'000 / nodes);
    for (std::size_t i = 0; i < rounds; ++i) beat_all(pump, stream, nodes, answered);
    const auto count = static_cast<double>(nodes);
    cpu.emplace_back(count, meter.used_us() / count / static_cast<double>(rounds));
    memory.emplace_back(count, rss_of(servers.musterd.pid(0)) / 1e6);
    bool synced = false;
    const MonoTime began = boot_now();
    Watch watch(channel, "/muster.v1.CoordinatorService/WatchTopology",
                [&](v1::TopologyUpdate& update) { synced = synced || update.has_full_sync(); });
    watch.write(v1::WatchTopologyRequest());
    pump.run_until([&] { return synced; });
    full.emplace_back(count, ms_since(began));
    std::printf("  %zu nodes\n", nodes);
  }
  report.curve({"What one heartbeat costs the server, a hundred in a message",
                "registered nodes",
                "CPU of the server, us each",
                {{"musterd", cpu}}});
  report.curve({"Memory of the server", "registered nodes", "RSS, MB", {{"musterd", memory}}});
  report.curve(
      {"A new watcher gets the whole topology", "registered nodes", "ms", {{"musterd", full}}});
}

/// One change, until the last watcher has it; the median of five.
double deliver(RpcPump& pump, const LinkPtr& writer, std::size_t watchers, std::size_t& delivered,
               std::size_t& node) {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    delivered = 0;
    const MonoTime began = boot_now();
    register_nodes(pump, writer, node, node + 1);
    ++node;
    pump.run_until([&] { return delivered >= watchers; });
    times.push_back(ms_since(began));
  }
  return percentile(times, 0.5);
}

void scale_watchers(Report& report) {
  ServerPair servers(1, true);
  const auto owner = own_pump();
  RpcPump& pump = *owner;
  const auto writer = pump.connect_all(servers.musterd.endpoint(0), 1).front();
  const auto channels = pump.connect_all(servers.musterd.endpoint(0), 20);
  std::size_t in_force = 0;
  std::size_t delivered = 0;
  std::size_t node = 0;
  std::vector<std::unique_ptr<Watch>> watches;
  Line last;
  for (const std::size_t count : {10U, 100U, 1000U, 10'000U}) {
    while (watches.size() < count) {
      watches.push_back(std::make_unique<Watch>(channels[watches.size() % channels.size()],
                                                "/muster.v1.CoordinatorService/WatchTopology",
                                                [&](v1::TopologyUpdate& update) {
                                                  in_force += update.has_full_sync() ? 1 : 0;
                                                  delivered += update.has_node_added() ? 1 : 0;
                                                }));
      watches.back()->write(v1::WatchTopologyRequest());
      if (watches.size() % 100 == 0) pump.run_until([&] { return in_force == watches.size(); });
    }
    pump.run_until([&] { return in_force == watches.size(); });
    last.emplace_back(static_cast<double>(count), deliver(pump, writer, count, delivered, node));
    std::printf("  %zu watchers\n", count);
  }
  report.curve({"A node registers: until the last watcher knows",
                "watchers, on 20 connections",
                "ms, median of five",
                {{"musterd", last}}});
}

/// Keys of 200 bytes; all parts of a snapshot made in one go, and the longest of them, which is
/// what others wait for.
void scale_state(Report& report) {
  Line whole;
  Line longest;
  cluster::ClusterState state;
  std::uint64_t index = 0;
  for (const std::size_t keys : {1000U, 10'000U, 100'000U, 1'000'000U}) {
    while (index < keys) {
      const cluster::StorePut put{
          key_of(index), std::string(200, 'v'), cluster::AnyVersion{}, {}, {}};
      ++index;
      MUSTER_CHECK(state.apply(cluster::encode(put), {index, 0, {}}).ok());
    }
    const MonoTime began = boot_now();
    cluster::SnapshotParts parts(state);
    double worst = 0;
    double bytes = 0;
    for (MonoTime step = began;;) {
      const auto part = parts.next();
      worst = std::max(worst, ms_since(step));
      step = boot_now();
      if (!part) break;
      bytes += static_cast<double>(part->size());
    }
    whole.emplace_back(bytes / 1e6, ms_since(began));
    longest.emplace_back(bytes / 1e6, worst);
  }
  report.curve({"Making a snapshot",
                "size of the state, MB",
                "ms",
                {{"all of it", whole}, {"longest step", longest}}});
}

void scale_workers(Report& report) {
  ::setenv("AWS_ACCESS_KEY_ID", RadosGateway::kAccessKey, 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", RadosGateway::kSecretKey, 1);
  Line requests;
  for (const std::size_t workers : {1U, 10U, 100U, 1000U}) {
    RadosGateway gateway;  // Its own, so that its count is this fleet's.
    SteadyFleet fleet({std::to_string(workers) + " workers", workers, 1, gateway.url("scale"),
                       gateway.admin_socket(gateway.port())});
    fleet.settle();
    const auto result = fleet.measure(30s);
    requests.emplace_back(static_cast<double>(workers), result.per_cycle());
    std::printf("  %zu workers: %llu cycles, %llu failed\n", workers,
                static_cast<unsigned long long>(result.cycles),
                static_cast<unsigned long long>(result.failures));
  }
  report.curve({"What an election costs the bucket",
                "workers in one namespace",
                "requests of one worker in one heartbeat",
                {{"S3", requests}}});
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  using namespace muster;
  using namespace muster::bench;
  std::size_t largest = 100'000;
  if (argc > 1) {
    const auto asked = parse_unsigned(argv[1]);
    if (!asked || *asked < 100) {
      std::fprintf(stderr, "usage: bench_scale [LARGEST NUMBER OF NODES, at least 100]\n");
      return 64;
    }
    largest = static_cast<std::size_t>(*asked);
  }
  set_log_sink([](const LogLine&) {});
  Report report("scale");
  scale_nodes(report, largest);
  scale_watchers(report);
  scale_state(report);
  scale_workers(report);
  return report.finish();
}
