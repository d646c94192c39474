#include "bench/process_usage.h"
#include "bench/report.h"
#include "bench/server_parts.h"
#include "bench/server_subjects.h"
#include "etcd/rpc.pb.h"
#include "muster/v1/coordinator.pb.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

constexpr std::size_t kWatchers = 5000;
constexpr std::size_t kChanges = 10;
constexpr std::size_t kSharedConnections = 10;
constexpr std::size_t kDeltaBytes = 150;  // A node in a delta, with its ids, is as long.

using EtcdWatch = RpcStream<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;
using TopologyWatch = RpcStream<v1::WatchTopologyRequest, v1::TopologyUpdate>;

struct FanOut {
  std::vector<double> last_ms{};  ///< From the request of a change to its last delivery.
  double cpu_us = 0;              ///< For one delivery.
  double watcher_kb = 0;
};

/// `Open` makes one watcher and counts it in force; `change` makes one change.
template <typename Open, typename Change>
FanOut fan_out(RpcPump& pump, const std::string& endpoint, pid_t server, std::size_t connections,
               std::uint64_t& in_force, std::uint64_t& delivered, Open open, Change change) {
  FanOut result;
  in_force = 0;
  const double before = rss_of(server);
  const auto channels = pump.connect_all(endpoint, connections);
  std::vector<decltype(open(channels[0]))> watchers;
  for (std::size_t i = 0; i < kWatchers; ++i) {
    watchers.push_back(open(channels[i % connections]));
    // A few at a time: a burst would measure queues.
    if (i % 100 == 99) pump.run_until([&] { return in_force == i + 1; });
  }
  pump.run_until([&] { return in_force == kWatchers; });
  result.watcher_kb = (rss_of(server) - before) / 1024 / static_cast<double>(kWatchers);
  pump.run_for(1s);
  const CpuMeter meter(server);
  for (std::size_t i = 0; i < kChanges; ++i) {
    delivered = 0;
    const MonoTime began = boot_now();
    bool acknowledged = false;
    change(i, [&] { acknowledged = true; });
    pump.run_until([&] { return acknowledged && delivered == kWatchers; });
    result.last_ms.push_back(std::chrono::duration<double, std::milli>(boot_now() - began).count());
  }
  result.cpu_us = meter.used_us() / static_cast<double>(kChanges * kWatchers);
  return result;
}

FanOut etcd_fan_out(RpcPump& pump, const std::string& endpoint, pid_t server,
                    std::size_t connections) {
  std::uint64_t in_force = 0;
  std::uint64_t delivered = 0;
  etcdserverpb::WatchRequest request;
  request.mutable_create_request()->set_key(key_of(0));
  const LinkPtr writer = pump.connect_all(endpoint, 1).front();
  return fan_out(
      pump, endpoint, server, connections, in_force, delivered,
      [&](const LinkPtr& channel) {
        auto watch = std::make_unique<EtcdWatch>(channel, "/etcdserverpb.Watch/Watch",
                                                 [&](etcdserverpb::WatchResponse& response) {
                                                   in_force += response.created() ? 1 : 0;
                                                   delivered += response.events_size() > 0 ? 1 : 0;
                                                 });
        watch->write(request);
        return watch;
      },
      [&](std::size_t, std::function<void()> done) {
        etcd_put(writer, 0, std::string(kDeltaBytes, 'v'), std::move(done));
      });
}

FanOut muster_fan_out(RpcPump& pump, const std::string& endpoint, pid_t server,
                      std::size_t connections, std::size_t& nodes) {
  std::uint64_t in_force = 0;
  std::uint64_t delivered = 0;
  const LinkPtr writer = pump.connect_all(endpoint, 1).front();
  return fan_out(
      pump, endpoint, server, connections, in_force, delivered,
      [&](const LinkPtr& channel) {
        auto watch =
            std::make_unique<TopologyWatch>(channel, "/muster.v1.CoordinatorService/WatchTopology",
                                            [&](v1::TopologyUpdate& update) {
                                              in_force += update.has_full_sync() ? 1 : 0;
                                              delivered += update.has_node_added() ? 1 : 0;
                                            });
        watch->write(v1::WatchTopologyRequest());
        return watch;
      },
      [&](std::size_t, std::function<void()> done) {
        v1::RegisterNodeRequest request;
        auto* node = request.mutable_node();
        node->set_id(node_id(nodes));
        node->set_address("10.0.0.1");
        node->set_port(9000);
        node->set_type(v1::NODE_TYPE_OBJECT);
        node->set_generation_id(generation_of(nodes++));
        unary<v1::RegisterNodeResponse>(
            writer, "/muster.v1.CoordinatorService/RegisterNode", request, 30s,
            [done = std::move(done)](const CallEnd& status, v1::RegisterNodeResponse&) {
              expect_ok("RegisterNode", status);
              done();
            });
      });
}

/// The server is new: what it holds for watchers is their first memory.
void measure_watches_with(Report& report, const ServerRun& run, Client client) {
  const std::string with = std::string(", ") + name_of(client);
  const bool ours = client == Client::kOwn;
  ServerPair servers(1, run.tmpfs);
  const auto owner = make_pump(client);
  RpcPump& pump = *owner;
  std::size_t nodes = 0;
  std::vector<std::vector<std::string>> table;
  for (const bool own : {true, false}) {
    const std::size_t connections = own ? kWatchers : kSharedConnections;
    const std::string where = own ? "own connections" : "10 connections";
    const FanOut etcd =
        etcd_fan_out(pump, servers.etcd.endpoint(0), servers.etcd.pid(0), connections);
    pump.run_for(2s);
    const FanOut musterd = muster_fan_out(pump, servers.musterd.endpoint(0), servers.musterd.pid(0),
                                          connections, nodes);
    pump.run_for(2s);
    for (const auto& [name, result] : {std::pair("etcd", &etcd), std::pair("musterd", &musterd)}) {
      const double last = percentile(result->last_ms, 0.5);
      table.push_back({name + (", " + where), figure(last, 1),
                       figure(percentile(result->last_ms, 1), 1), figure(result->cpu_us, 1),
                       figure(result->watcher_kb, 1)});
      report.data()["watches"][name_of(client)][where][name] = {{"last_ms_median", last},
                                                                {"last_ms", result->last_ms},
                                                                {"cpu_us", result->cpu_us},
                                                                {"watcher_kb", result->watcher_kb}};
    }
    const double time = percentile(musterd.last_ms, 0.5) / percentile(etcd.last_ms, 0.5);
    const double cpu = musterd.cpu_us / etcd.cpu_us;
    const double cpu_bar = !own ? 1.0 : ours ? 0.35 : 0.42;
    report.at_most("CPU of a delivery, " + where + ", of etcd's" + with, cpu, cpu_bar, "x");
    const std::string last = "last delivery, " + where + ", of etcd's" + with;
    if (own && !ours) {
      // gRPC's clients need longer than either server.
      report.note(last + ": " + figure(time, 2) + " x");
    } else {
      report.at_most(last, time, own ? 0.5 : 1.0, "x");
    }
    if (own) report.at_most("memory per connected watcher" + with, musterd.watcher_kb, 20, "KB");
  }
  report.table({"what" + with, "last ms, median", "worst", "CPU us each", "KB each"}, table);
}

}  // namespace

void measure_watches(Report& report, const ServerRun& run) {
  report.title("one change to 5,000 watchers, ten times; the watchers are in this one process");
  for (const Client client : kClients) measure_watches_with(report, run, client);
}

}  // namespace muster::bench
