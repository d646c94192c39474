// What an election costs and how fast it is, on a real S3 (radosgw), with the default timings:
// requests per heartbeat counted at the server, time to the first leader, failover after a crash,
// handover after a graceful stop, and the price of a month. Beside it, in the same run, s3db.js,
// whose coordinator this one follows.
//   bench_election [SECONDS of steady state]
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "bench/election_fleet.h"
#include "bench/election_steady.h"
#include "bench/load.h"
#include "bench/report.h"
#include "bench/s3db_peer.h"
#include "platform/system_clock.h"
#include "tests/support/radosgw.h"

namespace muster::bench {
namespace {

struct Timings {
  const char* name;
  int heartbeat_ms, jitter_ms, lease_ms, worker_timeout_ms;
  [[nodiscard]] std::string json() const {
    const auto option = [](const char* key, int ms) {
      return std::string("\"") + key + "\": " + std::to_string(ms);
    };
    return "{" + option("heartbeatInterval", heartbeat_ms) + ", " +
           option("heartbeatJitter", jitter_ms) + ", " + option("leaseTimeout", lease_ms) + ", " +
           option("workerTimeout", worker_timeout_ms) + ", " +
           option("startupJitterMax", heartbeat_ms) + "}";
  }
};
constexpr Timings kDefaults{"default timings", 5000, 1000, 15000, 20000};
constexpr Timings kShort{"short timings (1 s, lease 3 s)", 1000, 200, 3000, 5000};

void judge(Report& report, const std::vector<SteadyFleet::Result>& results) {
  report.at_most("requests per worker-cycle, 1 worker", results[0].per_cycle(), 2, "");
  report.at_most("requests per worker-cycle, 8 workers", results[1].per_cycle(), 1.6, "");
  report.at_most("requests per worker-cycle, 100 workers", results[2].per_cycle(), 1.6, "");
  report.at_most("10 plugins in a process, times the requests of one",
                 results[3].per_cycle() / results[0].per_cycle(), 1, "");
  double disturbed = 0;
  for (const auto& result : results) {
    disturbed += static_cast<double>(result.failures + result.leader_changes);
  }
  report.at_most("failed heartbeats and changes of leader meanwhile", disturbed, 0, "");
}

void show(Report& report, const std::vector<std::unique_ptr<SteadyFleet>>& fleets,
          const std::vector<SteadyFleet::Result>& results) {
  std::vector<std::vector<std::string>> table;
  for (std::size_t i = 0; i < fleets.size(); ++i) {
    const auto& r = results[i];
    table.push_back({fleets[i]->options().name, std::to_string(r.cycles),
                     std::to_string(r.requests.requests), std::to_string(r.requests.gets),
                     std::to_string(r.requests.puts), std::to_string(r.requests.others()),
                     figure(r.per_cycle(), 3), figure(r.monthly_cost(), 2)});
    report.data()["steady"][fleets[i]->options().name] = {
        {"workers", fleets[i]->options().workers},
        {"seconds", std::chrono::duration<double>(r.wall).count()},
        {"cycles", r.cycles},
        {"requests", r.requests.requests},
        {"gets", r.requests.gets},
        {"puts", r.requests.puts},
        {"lists", r.requests.others()},
        {"requests_per_cycle", r.per_cycle()},
        {"usd_per_month", r.monthly_cost()},
        {"failed_heartbeats", r.failures},
        {"leader_changes", r.leader_changes}};
  }
  report.table({"fleet", "cycles", "requests", "GET", "PUT", "LIST", "requests/cycle", "USD/month"},
               table);
}

constexpr std::size_t kPeers = 8;

/// Beside Muster's fleets, at the same time.
struct PeerFleet {
  PeerFleet(const S3dbPeer& peer, RadosGateway& gateway, const std::string& options) {
    const int port = free_port();
    gateway.start(port);
    fleet = std::make_unique<S3dbSteadyFleet>(peer.worker(port, "s3db-steady", options), kPeers,
                                              gateway.admin_socket(port));
  }
  void show(Report& report, const SteadyFleet::Result& ours) const {
    if (!measured) return report.note("s3db.js: one of its workers ended by itself");
    const S3dbSteadyFleet::Result& result = *measured;
    report.note("s3db.js " + std::string(S3dbPeer::kVersion) + ", " + std::to_string(kPeers) +
                " workers, at the same time: " + std::to_string(result.cycles) + " cycles, " +
                std::to_string(result.requests.requests) + " requests, " +
                figure(result.per_cycle(), 3) + " per cycle");
    report.data()["steady_s3db"] = {{"workers", kPeers},
                                    {"seconds", std::chrono::duration<double>(result.wall).count()},
                                    {"cycles", result.cycles},
                                    {"requests", result.requests.requests},
                                    {"gets", result.requests.gets},
                                    {"puts", result.requests.puts},
                                    {"others", result.requests.others()},
                                    {"requests_per_cycle", result.per_cycle()}};
    report.at_most("requests per worker-cycle, 8 workers, times those of s3db.js",
                   ours.per_cycle() / result.per_cycle(), 0.5, "");
  }

  std::unique_ptr<S3dbSteadyFleet> fleet;
  std::optional<S3dbSteadyFleet::Result> measured;
};

void steady_state(Report& report, RadosGateway& gateway, const std::optional<S3dbPeer>& peer,
                  Duration window) {
  report.title("steady state: heartbeat 5 s + 0-1 s, lease 15 s, worker timeout 20 s, " +
               std::to_string(to_ms(window) / 1000) + " s, requests as radosgw counts them");
  std::vector<std::unique_ptr<SteadyFleet>> fleets;
  const auto add = [&](const std::string& name, std::size_t workers, std::size_t plugins) {
    const int port = free_port();
    gateway.start(port);
    fleets.push_back(std::make_unique<SteadyFleet>(SteadyFleet::Options{
        name, workers, plugins, gateway.url("steady-" + std::to_string(fleets.size()), port),
        gateway.admin_socket(port)}));
  };
  add("1 worker, 1 plugin", 1, 1);
  add("8 workers", 8, 1);
  add("100 workers", 100, 1);
  add("1 worker, 10 plugins", 1, 10);
  std::optional<PeerFleet> peers;
  if (peer) peers.emplace(*peer, gateway, kDefaults.json());
  for (const auto& fleet : fleets) fleet->settle();
  if (peers && !peers->fleet->settle()) {
    report.note("s3db.js: its workers did not settle, and are not measured here");
    peers.reset();
  }

  std::vector<SteadyFleet::Result> results(fleets.size());
  const Duration cpu = process_cpu();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < fleets.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = fleets[i]->measure(window); });
  }
  if (peers) threads.emplace_back([&] { peers->measured = peers->fleet->measure(window); });
  for (std::thread& thread : threads) thread.join();
  const Duration spent = process_cpu() - cpu;

  show(report, fleets, results);
  double cycles = 0;
  for (const auto& result : results) cycles += static_cast<double>(result.cycles);
  const double cpu_us = std::chrono::duration<double, std::micro>(spent).count() / cycles;
  report.data()["steady_cpu_us_per_cycle"] = cpu_us;
  report.note("own CPU for a worker-cycle, all fleets together: " + figure(cpu_us, 0) + " us");
  report.note("USD/month: S3 Standard, us-east-1, GET 0.0004 and PUT or LIST 0.005 per 1,000");
  judge(report, results);
  if (peers) peers->show(report, results[1]);
}

void summarize(Report& report, const std::string& what, const std::vector<double>& samples,
               std::size_t expected, double bar) {
  if (samples.size() < expected) {
    report.at_least(what + ": trials that ended", static_cast<double>(samples.size()),
                    static_cast<double>(expected), "");
  }
  if (samples.empty()) return;
  report.data()[what] = samples;
  report.note(what + ": " + std::to_string(samples.size()) + " trials, min " +
              figure(percentile(samples, 0), 2) + ", p90 " + figure(percentile(samples, 0.9), 2) +
              ", max " + figure(percentile(samples, 1), 2) + " s");
  report.at_most(what + ", median", percentile(samples, 0.5), bar, "s");
}

void first_leader(Report& report, RadosGateway& gateway) {
  report.title("first leader on an empty prefix, from start() (probe and registration included)");
  constexpr std::size_t kTrials = 20;
  for (const std::size_t workers : {std::size_t{1}, std::size_t{8}}) {
    const std::string words = std::to_string(workers) + (workers == 1 ? " worker" : " workers");
    std::vector<double> samples;
    for (std::size_t trial = 0; trial < kTrials; ++trial) {
      samples.push_back(time_to_first_leader(
          gateway.url("first-" + std::to_string(workers) + "-" + std::to_string(trial)), workers));
    }
    summarize(report, "first leader, " + words, samples, kTrials, 1);
  }
}

struct Replacements {
  std::vector<double> crashed;
  std::vector<double> stopped;
};

/// Kills the leader of every namespace, later asks each new one to stop.
Replacements replace_all(const ElectionFleet::Options& options, const Timings& timings) {
  ElectionFleet fleet(options);
  const Duration heartbeat = std::chrono::milliseconds(timings.heartbeat_ms);
  const Duration lease = std::chrono::milliseconds(timings.lease_ms);
  fleet.await_leaders(2min);
  sleep_for(3 * heartbeat);
  Replacements waits;
  waits.crashed = fleet.replace_leaders(SIGKILL, lease, 3 * lease);
  sleep_for(3 * heartbeat);
  waits.stopped = fleet.replace_leaders(SIGTERM, lease, 3 * lease);
  return waits;
}

std::string trials(const ElectionFleet::Options& options) {
  return std::to_string(options.namespaces) +
         " namespaces at once, 3 processes each; every leader killed, then every new one asked to "
         "stop";
}

Replacements replacements(Report& report, RadosGateway& gateway, const Timings& timings) {
  ElectionFleet::Options options;
  options.command =
      muster_worker(gateway.url("fleet-" + std::to_string(timings.lease_ms)), timings.json());
  const std::string name = timings.name;
  report.title(name + ": " + trials(options));
  Replacements waits = replace_all(options, timings);
  summarize(report, name + ": crash (kill -9) to next leader", waits.crashed, options.namespaces,
            timings.lease_ms / 1000.0 + 2);
  summarize(report, name + ": SIGTERM to next leader", waits.stopped, options.namespaces,
            timings.heartbeat_ms / 1000.0);
  return waits;
}

void compare(Report& report, const std::string& what, const std::vector<double>& ours,
             const std::vector<double>& theirs, std::size_t trials) {
  report.data()["s3db.js: " + what] = theirs;
  report.note("s3db.js: " + what + ": " + std::to_string(theirs.size()) + " of " +
              std::to_string(trials) + " trials ended in three leases");
  if (ours.empty() || theirs.empty()) return;
  report.note("s3db.js: " + what + ": min " + figure(percentile(theirs, 0), 2) + ", median " +
              figure(percentile(theirs, 0.5), 2) + ", max " + figure(percentile(theirs, 1), 2) +
              " s");
  report.at_most(what + ", median, times that of s3db.js",
                 percentile(ours, 0.5) / percentile(theirs, 0.5), 1, "");
}

void peer_replacements(Report& report, RadosGateway& gateway, const S3dbPeer& peer,
                       const Replacements& ours) {
  ElectionFleet::Options options;
  options.namespaces = 10;
  options.command = peer.worker(gateway.port(), "s3db-fleet", kDefaults.json());
  report.title("s3db.js " + std::string(S3dbPeer::kVersion) +
               ", the same timings: " + trials(options));
  const Replacements theirs = replace_all(options, kDefaults);
  compare(report, "crash (kill -9) to next leader", ours.crashed, theirs.crashed,
          options.namespaces);
  compare(report, "SIGTERM to next leader", ours.stopped, theirs.stopped, options.namespaces);
}

int run(Duration window) {
  set_log_sink([](const LogLine& line) { std::fprintf(stderr, "%s\n", format_text(line).c_str()); },
               LogLevel::kError);
  ::setenv("AWS_ACCESS_KEY_ID", RadosGateway::kAccessKey, 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", RadosGateway::kSecretKey, 1);
  ::unsetenv("AWS_SESSION_TOKEN");
  Report report("election");
  RadosGateway gateway;
  const std::optional<S3dbPeer> peer = S3dbPeer::install();
  if (!peer) report.note("without s3db.js beside it, which could not be installed here");
  first_leader(report, gateway);
  const Replacements ours = replacements(report, gateway, kDefaults);
  if (peer) peer_replacements(report, gateway, *peer, ours);
  replacements(report, gateway, kShort);
  steady_state(report, gateway, peer, window);
  return report.finish();
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 120;
  if (argc > 2 || !(seconds > 0)) {
    std::fprintf(stderr, "usage: bench_election [SECONDS of steady state]\n");
    return 64;
  }
  return muster::bench::run(muster::scale(std::chrono::seconds(1), seconds));
}
