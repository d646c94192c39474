// What an election costs and how fast it is, on a real S3 (radosgw), with the default timings:
// requests per heartbeat counted at the server, time to the first leader, failover after a crash,
// handover after a graceful stop, and the price of a month.
//   bench_election [SECONDS of steady state]
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "bench/election_fleet.h"
#include "bench/election_steady.h"
#include "bench/load.h"
#include "bench/report.h"
#include "platform/system_clock.h"
#include "tests/support/radosgw.h"

namespace muster::bench {
namespace {

void note_others(Report& report) {
  report.note("measured elsewhere, s3db.js 21.6 with the same timings, not in this run:");
  report.note(
      "4.5-5.1 requests per worker-cycle, 17.8-32.0 s after a crash, 1.6-14.5 s gracefully");
}

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

void steady_state(Report& report, RadosGateway& gateway, Duration window) {
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
  for (const auto& fleet : fleets) fleet->settle();

  std::vector<SteadyFleet::Result> results(fleets.size());
  const Duration cpu = process_cpu();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < fleets.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = fleets[i]->measure(window); });
  }
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

struct Timings {
  std::string name;
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

void replacements(Report& report, RadosGateway& gateway, const Timings& timings) {
  ElectionFleet::Options options;
  options.url = gateway.url("fleet-" + std::to_string(timings.lease_ms));
  options.coordinator_options = timings.json();
  report.title(timings.name + ": " + std::to_string(options.namespaces) +
               " namespaces at once, 3 processes each; every leader killed, then every new one " +
               "asked to stop");
  ElectionFleet fleet(options);
  const Duration heartbeat = std::chrono::milliseconds(timings.heartbeat_ms);
  const Duration lease = std::chrono::milliseconds(timings.lease_ms);
  fleet.await_leaders(1min);
  sleep_for(3 * heartbeat);
  const auto crashed = fleet.replace_leaders(SIGKILL, 3 * lease);
  summarize(report, timings.name + ": crash (kill -9) to next leader", crashed, options.namespaces,
            timings.lease_ms / 1000.0 + 2);
  sleep_for(3 * heartbeat);
  const auto stopped = fleet.replace_leaders(SIGTERM, 3 * lease);
  summarize(report, timings.name + ": SIGTERM to next leader", stopped, options.namespaces,
            timings.heartbeat_ms / 1000.0);
}

int run(Duration window) {
  set_log_sink([](const LogLine& line) { std::fprintf(stderr, "%s\n", format_text(line).c_str()); },
               LogLevel::kError);
  ::setenv("AWS_ACCESS_KEY_ID", RadosGateway::kAccessKey, 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", RadosGateway::kSecretKey, 1);
  ::unsetenv("AWS_SESSION_TOKEN");
  Report report("election");
  RadosGateway gateway;
  note_others(report);
  first_leader(report, gateway);
  replacements(report, gateway, {"default timings", 5000, 1000, 15000, 20000});
  replacements(report, gateway, {"short timings (1 s, lease 3 s)", 1000, 200, 3000, 5000});
  steady_state(report, gateway, window);
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
