#include "bench/report.h"
#include "bench/server_parts.h"
#include "bench/server_subjects.h"
#include "muster/v1/store.pb.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

constexpr std::size_t kValueBytes = 200;
constexpr std::size_t kConnections = 8;
constexpr std::size_t kInFlight = 256;
/// The two sides take turns, so that a noisy minute hits both.
constexpr int kTurns = 5;

using Put = void (*)(const LinkPtr&, std::size_t, const std::string&, std::function<void()>);

struct Side {
  std::string name;
  Put put;
  std::vector<LinkPtr> channels;
  std::vector<double> latencies_ms{};
  std::uint64_t answered = 0;
  Duration wall{0};

  [[nodiscard]] double per_second() const {
    return static_cast<double>(answered) / std::chrono::duration<double>(wall).count();
  }
};

void turn(RpcPump& pump, Side& side, std::size_t lanes, Duration time) {
  const std::string value(kValueBytes, 'v');
  LoadResult load =
      closed_loop(pump, lanes, time, [&](std::size_t lane, std::function<void()> done) {
        side.put(side.channels[lane % side.channels.size()], lane, value, std::move(done));
      });
  side.answered += load.answered;
  side.wall += load.wall;
  side.latencies_ms.insert(side.latencies_ms.end(), load.latencies_ms.begin(),
                           load.latencies_ms.end());
}

/// Never more than kInFlight unanswered, on one stream, one put in each message.
void turn_on_stream(RpcPump& pump, Side& side, Duration time) {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  RpcStream<v1::StorePutBatch, v1::StorePutOutcomes> stream(
      side.channels.front(), "/muster.v1.StoreService/PutStream",
      [&](v1::StorePutOutcomes& response) {
        for (const auto& outcome : response.outcomes()) MUSTER_CHECK(outcome.code() == 0);
        answered += static_cast<std::uint64_t>(response.outcomes_size());
      });
  const MonoTime began = boot_now();
  v1::StorePutBatch batch;
  v1::StorePutRequest& put = *batch.add_puts();
  put.set_value(std::string(kValueBytes, 'v'));
  pump.run_until([&] {
    const bool over = boot_now() >= began + time;
    while (!over && sent - answered < kInFlight) {
      put.set_key(key_of(sent++ % kInFlight));
      stream.write(batch);
    }
    return over && answered == sent;
  });
  side.wall += boot_now() - began;
  side.answered += answered;
}

void take_turns(RpcPump& pump, Side& etcd, Side& musterd, std::size_t lanes, Duration time) {
  for (Side* side : {&etcd, &musterd}) {
    turn(pump, *side, lanes, time / 10);  // Connections and caches first.
    side->answered = 0;
    side->wall = Duration::zero();
    side->latencies_ms.clear();
  }
  for (int i = 0; i < kTurns; ++i) {
    turn(pump, etcd, lanes, time / kTurns);
    turn(pump, musterd, lanes, time / kTurns);
  }
}

void show(Report& report, const std::string& name, const Side& etcd, const Side& musterd) {
  std::vector<std::vector<std::string>> rows;
  for (const Side* side : {&etcd, &musterd}) {
    const double p50 = percentile(side->latencies_ms, 0.5);
    const double p99 = percentile(side->latencies_ms, 0.99);
    rows.push_back({side->name, figure(side->per_second(), 0), figure(p50, 2), figure(p99, 2)});
    report.data()[name][side->name] = {
        {"per_s", side->per_second()}, {"p50_ms", p50}, {"p99_ms", p99}};
  }
  report.table({name, "1/s", "p50 ms", "p99 ms"}, rows);
}

void measure_writes_with(Report& report, const ServerRun& run, ServerPair& servers, Client client) {
  const std::string with = std::string(", ") + name_of(client);
  const auto owner = make_pump(client);
  RpcPump& pump = *owner;
  const auto sides = [&](std::size_t connections) {
    return std::pair(
        Side{"etcd", etcd_put,
             pump.connect_all(servers.etcd.endpoint(servers.etcd.leader()), connections)},
        Side{"musterd", muster_put,
             pump.connect_all(servers.musterd.endpoint(servers.musterd.leader()), connections)});
  };
  {
    auto [etcd, musterd] = sides(1);
    take_turns(pump, etcd, musterd, 1, run.time * 2);
    show(report, "one at a time" + with, etcd, musterd);
    report.at_most("write one at a time, p50, of etcd's" + with,
                   percentile(musterd.latencies_ms, 0.5) / percentile(etcd.latencies_ms, 0.5), 1.4,
                   "x");
  }
  auto [etcd, musterd] = sides(kConnections);
  take_turns(pump, etcd, musterd, kInFlight, run.time * 2);
  show(report, "256 in flight, unary" + with, etcd, musterd);
  report.at_least("writes/s, 256 in flight, unary, of etcd's" + with,
                  musterd.per_second() / etcd.per_second(), 1.8, "x");
  Side piped{"musterd, one stream", nullptr, {musterd.channels.front()}};
  turn_on_stream(pump, piped, run.time / 10);
  piped.answered = 0;
  piped.wall = Duration::zero();
  Side again{"etcd, unary", etcd_put, etcd.channels};
  for (int i = 0; i < kTurns; ++i) {
    turn(pump, again, kInFlight, run.time * 2 / kTurns);
    turn_on_stream(pump, piped, run.time * 2 / kTurns);
  }
  const std::string name = "256 in flight, pipelined" + with;
  report.table({name, "1/s"}, {{again.name, figure(again.per_second(), 0)},
                               {piped.name, figure(piped.per_second(), 0)}});
  report.data()[name] = {{"etcd", again.per_second()}, {"musterd", piped.per_second()}};
  report.at_least("writes/s, 256 in flight on one stream, of etcd's unary" + with,
                  piped.per_second() / again.per_second(), 4, "x");
}

}  // namespace

void measure_commands(Report& report, const ServerRun& run) {
  report.title("acknowledged writes of 200 B, three servers and three members");
  ServerPair servers(3, run.tmpfs);
  for (const Client client : kClients) measure_writes_with(report, run, servers, client);
}

}  // namespace muster::bench
