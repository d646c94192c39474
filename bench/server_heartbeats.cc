#include <algorithm>

#include "bench/process_usage.h"
#include "bench/report.h"
#include "bench/secure_server.h"
#include "bench/server_parts.h"
#include "bench/server_subjects.h"
#include "etcd/lease.pb.h"
#include "muster/v1/coordinator.pb.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

constexpr std::size_t kNodes = 1000;
constexpr double kPerSecond = 1000;
constexpr const char* kHeartbeat = "/muster.v1.CoordinatorService/Heartbeat";
constexpr const char* kHeartbeatStream = "/muster.v1.CoordinatorService/HeartbeatStream";

using KeepAlives =
    RpcStream<etcdserverpb::LeaseKeepAliveRequest, etcdserverpb::LeaseKeepAliveResponse>;
using Heartbeats = RpcStream<v1::HeartbeatBatch, v1::HeartbeatBatchResponse>;

v1::HeartbeatRequest heartbeat(std::size_t node) {
  v1::HeartbeatRequest request;
  request.set_node_id(node_id(node));
  request.set_generation_id(generation_of(node));
  request.set_reported_state(v1::NODE_STATE_ACTIVE);
  return request;
}

v1::HeartbeatBatch batch(std::size_t first, std::size_t count) {
  v1::HeartbeatBatch message;
  for (std::size_t i = 0; i < count; ++i) *message.add_heartbeats() = heartbeat(first + i);
  return message;
}

/// CPU of one server for answers that were counted, and what its connections held in memory.
struct Usage {
  std::uint64_t answers = 0;
  double cpu_us = 0;
  double connection_kb = 0;
  [[nodiscard]] double each_us() const { return cpu_us / static_cast<double>(answers); }
};

/// What counts answers of a heartbeat stream; a refusal would make the figure worthless.
std::function<void(v1::HeartbeatBatchResponse&)> counter(std::uint64_t& answers,
                                                         std::size_t heartbeats) {
  return [&answers, heartbeats](v1::HeartbeatBatchResponse& response) {
    if (response.refused_size() > 0) {
      std::fprintf(stderr, "a heartbeat was refused: %s\n", response.refused(0).message().c_str());
    }
    MUSTER_CHECK(response.refused_size() == 0);
    answers += heartbeats;
  };
}

std::function<void(etcdserverpb::LeaseKeepAliveResponse&)> counter(std::uint64_t& answers) {
  return [&answers](etcdserverpb::LeaseKeepAliveResponse& response) {
    MUSTER_CHECK(response.ttl() > 0);
    ++answers;
  };
}

/// Measures while `tick(i)` sends one of `per_second` messages, and waits for all answers.
template <typename Tick>
void paced(RpcPump& pump, pid_t server, Duration time, double per_second, std::uint64_t each,
           std::uint64_t& answers, Usage& usage, Tick tick) {
  answers = 0;
  std::uint64_t sent = 0;
  const CpuMeter meter(server);
  pump.run_paced(time, per_second, [&] { tick(sent++); });
  pump.run_until([&] { return answers == sent * each; });
  usage.cpu_us = meter.used_us();
  usage.answers = answers;
}

/// One stream and one node each on connections of their own.
template <typename Stream, typename Message, typename Counter>
Usage on_own_connections(RpcPump& pump, const std::string& endpoint, const char* method,
                         pid_t server, Duration time, std::uint64_t& answers, Counter count,
                         Message message, const std::optional<LoadTls>& tls = std::nullopt) {
  Usage usage;
  const double before = rss_of(server);
  const auto links = pump.connect_all(endpoint, kNodes, tls);
  std::vector<std::unique_ptr<Stream>> streams;
  for (const LinkPtr& link : links)
    streams.push_back(std::make_unique<Stream>(link, method, count));
  answers = 0;
  for (std::size_t i = 0; i < kNodes; ++i) streams[i]->write(message(i));
  pump.run_until([&] { return answers == kNodes; });
  usage.connection_kb = (rss_of(server) - before) / 1024 / static_cast<double>(kNodes);
  paced(pump, server, time, kPerSecond, 1, answers, usage,
        [&](std::uint64_t i) { streams[i % kNodes]->write(message(i % kNodes)); });
  return usage;
}

/// As many as the stream takes, never more than `window` unanswered.
template <typename Stream, typename Message, typename Counter>
Usage saturated(RpcPump& pump, const std::string& endpoint, const char* method, pid_t server,
                Duration time, std::uint64_t& answers, Counter count, Message message) {
  constexpr std::uint64_t kWindow = 256;
  Usage usage;
  const LinkPtr link = pump.connect_all(endpoint, 1).front();
  Stream stream(link, method, count);
  answers = 0;
  std::uint64_t sent = 0;
  const CpuMeter meter(server);
  const MonoTime end = boot_now() + time;
  pump.run_until([&] {
    const bool over = boot_now() >= end;
    while (!over && sent - answers < kWindow) stream.write(message(sent++ % kNodes));
    return over && answers == sent;
  });
  usage.cpu_us = meter.used_us();
  usage.answers = answers;
  return usage;
}

std::vector<std::int64_t> grant_leases(RpcPump& pump, const LinkPtr& channel) {
  std::vector<std::int64_t> leases;
  for (std::size_t i = 0; i < kNodes; ++i) {
    etcdserverpb::LeaseGrantRequest request;
    request.set_ttl(600);
    leases.push_back(ask<etcdserverpb::LeaseGrantResponse>(
                         pump, channel, "/etcdserverpb.Lease/LeaseGrant", request)
                         .id());
  }
  return leases;
}

Usage unary_heartbeats(RpcPump& pump, const std::string& endpoint, pid_t server, Duration time) {
  Usage usage;
  const auto channels = pump.connect_all(endpoint, kNodes);
  std::uint64_t answers = 0;
  paced(pump, server, time, kPerSecond, 1, answers, usage, [&](std::uint64_t i) {
    unary<v1::HeartbeatResponse>(channels[i % kNodes], kHeartbeat, heartbeat(i % kNodes), 30s,
                                 [&](const CallEnd& status, v1::HeartbeatResponse&) {
                                   expect_ok("Heartbeat", status);
                                   ++answers;
                                 });
  });
  return usage;
}

/// 10,000 nodes, each heard every 10 s, told by ten agents in messages of 100.
void measure_fleet(Report& report, RpcPump& pump, const std::string& endpoint, pid_t server,
                   const LinkPtr& channel, Duration time) {
  constexpr std::size_t kFleet = 10'000;
  constexpr std::size_t kAgents = 10;
  constexpr std::size_t kEach = 100;
  register_nodes(pump, channel, kNodes, kFleet);
  const auto channels = pump.connect_all(endpoint, kAgents);
  std::uint64_t answers = 0;
  std::vector<std::unique_ptr<Heartbeats>> agents;
  for (const auto& agent : channels) {
    agents.push_back(
        std::make_unique<Heartbeats>(agent, kHeartbeatStream, counter(answers, kEach)));
  }
  Usage usage;
  const auto tick = [&](std::uint64_t i) {
    agents[i % kAgents]->write(batch(i * kEach % kFleet, kEach));
  };
  // Everybody once, which makes all of them ACTIVE: that is a change and not what is measured.
  paced(pump, server, 10s, 10, kEach, answers, usage, tick);
  const auto committed = [&] {
    return ask<v1::HealthCheckResponse>(pump, channel, "/muster.v1.CoordinatorService/HealthCheck",
                                        v1::HealthCheckRequest())
        .committed_index();
  };
  const auto entries_before = committed();
  const MonoTime began = boot_now();
  const Duration length = std::max<Duration>(time, 10s);
  paced(pump, server, length, 10, kEach, answers, usage, tick);
  const double seconds = std::chrono::duration<double>(boot_now() - began).count();
  const double core = usage.cpu_us / 1e6 / seconds * 100;
  const double entries = static_cast<double>(committed() - entries_before) / seconds;
  report.data()["fleet_of_10000"] = {{"core_percent", core}, {"entries_per_s", entries}};
  report.at_most("10,000 nodes at 10 s, batched agents: of one core", core, 5, "%");
  report.at_most("10,000 nodes at 10 s: entries of the log per second", entries, 1.1, "1/s");
}

/// Of a keepalive's CPU in the same run, by the client that asks.
struct Bars {
  double stream;
  double with_tls;
  double unary;
  double one_stream;
};

Bars bars_of(Client client) {
  return client == Client::kOwn ? Bars{0.22, 0.35, 0.33, 0.10} : Bars{0.26, 0.35, 0.38, 0.20};
}

/// The server is new: what it holds for connections is their first memory.
void measure_beats_with(Report& report, const ServerRun& run, Client client) {
  const std::string with = std::string(", ") + name_of(client);
  const Bars bars = bars_of(client);
  ServerPair servers(1, run.tmpfs);
  const auto owner = make_pump(client);
  RpcPump& pump = *owner;
  const std::string etcd = servers.etcd.endpoint(0);
  const std::string musterd = servers.musterd.endpoint(0);
  const pid_t etcd_pid = servers.etcd.pid(0);
  const pid_t musterd_pid = servers.musterd.pid(0);
  const auto leases = grant_leases(pump, pump.connect_all(etcd, 1).front());
  const LinkPtr link = pump.connect_all(musterd, 1).front();
  register_nodes(pump, link, 0, kNodes);

  std::uint64_t answers = 0;
  const auto keepalive = [&](std::size_t node) {
    etcdserverpb::LeaseKeepAliveRequest request;
    request.set_id(leases[node]);
    return request;
  };
  const auto one = [](std::size_t node) { return batch(node, 1); };
  constexpr const char* kKeepAlive = "/etcdserverpb.Lease/LeaseKeepAlive";

  const Usage etcd_own = on_own_connections<KeepAlives>(pump, etcd, kKeepAlive, etcd_pid, run.time,
                                                        answers, counter(answers), keepalive);
  const Usage own = on_own_connections<Heartbeats>(pump, musterd, kHeartbeatStream, musterd_pid,
                                                   run.time, answers, counter(answers, 1), one);
  const Usage own_unary = unary_heartbeats(pump, musterd, musterd_pid, run.time);
  const Usage etcd_piped = saturated<KeepAlives>(pump, etcd, kKeepAlive, etcd_pid, run.time,
                                                 answers, counter(answers), keepalive);
  const Usage piped = saturated<Heartbeats>(pump, musterd, kHeartbeatStream, musterd_pid, run.time,
                                            answers, counter(answers, 1), one);
  Usage secure;
  {
    SecureServer server(servers.engine.url("secure"));
    const LinkPtr agent = pump.connect_all(server.endpoint(), 1, server.tls()).front();
    register_nodes(pump, agent, 0, kNodes);
    secure =
        on_own_connections<Heartbeats>(pump, server.endpoint(), kHeartbeatStream, server.pid(),
                                       run.time, answers, counter(answers, 1), one, server.tls());
  }
  Usage hundred;
  {
    Heartbeats stream(link, kHeartbeatStream, counter(answers, 100));
    paced(pump, musterd_pid, run.time, 100, 100, answers, hundred,
          [&](std::uint64_t i) { stream.write(batch(i * 100 % kNodes, 100)); });
  }
  const std::pair<const char*, const Usage*> rows[] = {
      {"etcd keepalive, own connections, 1,000/s", &etcd_own},
      {"heartbeat stream, own connections, 1,000/s", &own},
      {"heartbeat stream, own connections, TLS, 1,000/s", &secure},
      {"heartbeat unary, own connections, 1,000/s", &own_unary},
      {"etcd keepalive, 256 in flight on one stream", &etcd_piped},
      {"heartbeat, 256 in flight on one stream", &piped},
      {"heartbeats, 100 per message, 10,000/s", &hundred},
  };
  std::vector<std::vector<std::string>> table;
  for (const auto& [name, usage] : rows) {
    table.push_back({name, std::to_string(usage->answers), figure(usage->each_us(), 2),
                     usage->connection_kb > 0 ? figure(usage->connection_kb, 1) : ""});
    report.data()["heartbeats"][name_of(client)][name] = {{"answers", usage->answers},
                                                          {"cpu_us", usage->each_us()},
                                                          {"connection_kb", usage->connection_kb}};
  }
  report.table({"what" + with, "answers", "CPU us each", "KB a connection"}, table);
  const double keepalive_us = etcd_own.each_us();
  report.at_most("CPU per heartbeat, own connections, of a keepalive's" + with,
                 own.each_us() / keepalive_us, bars.stream, "x");
  report.at_most("the same with TLS, of a keepalive's in plaintext" + with,
                 secure.each_us() / keepalive_us, bars.with_tls, "x");
  report.at_most("CPU per heartbeat, unary, own connections, of a keepalive's" + with,
                 own_unary.each_us() / keepalive_us, bars.unary, "x");
  report.at_most("CPU per heartbeat, 256 in flight on one stream, of a keepalive's" + with,
                 piped.each_us() / etcd_piped.each_us(), bars.one_stream, "x");
  report.at_most("CPU per heartbeat, 100 in a message" + with, hundred.each_us(), 3, "us");
  report.at_most("memory per connected node" + with, own.connection_kb, 20, "KB");
  report.at_most("memory per connected node, TLS" + with, secure.connection_kb, 60, "KB");
  if (client == Client::kOwn) {
    measure_fleet(report, pump, musterd, musterd_pid, link, run.time);
  }
}

}  // namespace

void measure_heartbeats(Report& report, const ServerRun& run) {
  report.title(
      "heartbeats of 1,000 nodes: CPU of one server, engine not included, against keepalives of "
      "1,000 leases");
  for (const Client client : kClients) measure_beats_with(report, run, client);
}

}  // namespace muster::bench
