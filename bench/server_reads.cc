#include "bench/process_usage.h"
#include "bench/report.h"
#include "bench/server_parts.h"
#include "bench/server_subjects.h"
#include "etcd/rpc.pb.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::bench {
namespace {

constexpr std::size_t kNodesRead = 100;
constexpr std::size_t kReadConnections = 4;
constexpr std::size_t kReadsInFlight = 16;

struct Reads {
  double per_second = 0;
  double cpu_us = 0;
};

Reads etcd_reads(RpcPump& pump, const std::vector<LinkPtr>& channels, pid_t server, Duration time,
                 bool linearizable) {
  etcdserverpb::RangeRequest request;
  request.set_key("bench/key-");
  request.set_range_end("bench/key.");
  request.set_serializable(!linearizable);
  const CpuMeter meter(server);
  const LoadResult load =
      closed_loop(pump, kReadsInFlight, time, [&](std::size_t lane, std::function<void()> done) {
        unary<etcdserverpb::RangeResponse>(
            channels[lane % channels.size()], "/etcdserverpb.KV/Range", request, 30s,
            [done = std::move(done)](const CallEnd& status, etcdserverpb::RangeResponse& range) {
              MUSTER_CHECK(status.ok() && range.kvs_size() == static_cast<int>(kNodesRead));
              done();
            });
      });
  return {load.per_second(), meter.used_us() / static_cast<double>(load.answered)};
}

Reads muster_reads(RpcPump& pump, const std::vector<LinkPtr>& channels, pid_t server, Duration time,
                   bool linearizable) {
  v1::GetTopologyRequest request;
  request.set_linearizable(linearizable);
  const CpuMeter meter(server);
  const LoadResult load =
      closed_loop(pump, kReadsInFlight, time, [&](std::size_t lane, std::function<void()> done) {
        unary<v1::GetTopologyResponse>(
            channels[lane % channels.size()], "/muster.v1.CoordinatorService/GetTopology", request,
            30s,
            [done = std::move(done)](const CallEnd& status, v1::GetTopologyResponse& topology) {
              MUSTER_CHECK(status.ok() &&
                           topology.object_nodes_size() == static_cast<int>(kNodesRead));
              done();
            });
      });
  return {load.per_second(), meter.used_us() / static_cast<double>(load.answered)};
}

void measure_reads_with(Report& report, const ServerRun& run, ServerPair& servers, Client client) {
  const auto owner = make_pump(client);
  RpcPump& pump = *owner;
  const auto etcd = pump.connect_all(servers.etcd.endpoint(0), kReadConnections);
  const auto musterd = pump.connect_all(servers.musterd.endpoint(0), kReadConnections);
  register_nodes(pump, musterd[0], 0, kNodesRead);
  const auto topology = ask<v1::GetTopologyResponse>(
      pump, musterd[0], "/muster.v1.CoordinatorService/GetTopology", v1::GetTopologyRequest());
  MUSTER_CHECK(topology.object_nodes_size() == static_cast<int>(kNodesRead));
  for (std::size_t i = 0; i < kNodesRead; ++i) {
    // What musterd sends of a node is what etcd keeps under a key.
    bool stored = false;
    etcd_put(etcd[0], i, topology.object_nodes(static_cast<int>(i)).SerializeAsString(),
             [&] { stored = true; });
    pump.run_until([&] { return stored; });
  }
  std::vector<std::vector<std::string>> table;
  for (const bool linearizable : {false, true}) {
    const Reads theirs = etcd_reads(pump, etcd, servers.etcd.pid(0), run.time, linearizable);
    const Reads ours = muster_reads(pump, musterd, servers.musterd.pid(0), run.time, linearizable);
    const std::string kind =
        std::string(linearizable ? "linearizable" : "stale") + ", " + name_of(client);
    for (const auto& [name, reads] : {std::pair("etcd", theirs), std::pair("musterd", ours)}) {
      table.push_back({name + (", " + kind), figure(reads.per_second, 0), figure(reads.cpu_us, 1)});
      report.data()["reads"][kind][name] = {{"per_s", reads.per_second}, {"cpu_us", reads.cpu_us}};
    }
    report.at_most("CPU of GetTopology, 100 nodes, " + kind + ", of etcd's range",
                   ours.cpu_us / theirs.cpu_us, linearizable ? 0.5 : 0.25, "x");
  }
  report.table({"what", "1/s", "CPU us each"}, table);
}

}  // namespace

void measure_reads(Report& report, const ServerRun& run) {
  report.title(
      "a topology of 100 nodes against a range of 100 keys as long; CPU of the server, "
      "musterd's without its engine's");
  ServerPair servers(1, run.tmpfs);
  for (const Client client : kClients) measure_reads_with(report, run, servers, client);
}

}  // namespace muster::bench
