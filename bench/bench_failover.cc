// How long leader-only work stands still when its node is lost or asked to stop: `muster run` on
// each store, and `etcdctl lock` on the same etcd in the same run. Real processes; from the signal
// to the first instruction of the work on the next node.
//   bench_failover [TRIALS]
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/report.h"
#include "platform/process_table.h"
#include "platform/system_clock.h"
#include "tests/run/evidence.h"
#include "tests/run/run_node.h"
#include "tests/support/etcd_cluster.h"
#include "tests/support/postgres_server.h"
#include "tests/support/radosgw.h"

namespace muster::bench {
namespace {

constexpr Duration kPatience = 30s;

/// One way to keep work on one node.
struct Subject {
  std::string name;
  Duration lease;
  std::string url;  ///< Of the arbiter; empty for `etcdctl lock`.
  std::string endpoints{};
  std::optional<double> bar_killed{};   ///< Seconds, for the median.
  std::optional<double> bar_stopped{};  ///< Likewise.
  Duration takeover_delay = 1s;         ///< The default.
};

struct Trial {
  double seconds = 0;
  /// The work that was lost still ran when its successor started.
  bool ran_twice = false;
};

std::vector<std::string> words(const Subject& subject, const std::string& name, const char* id,
                               const std::string& directory) {
  const std::vector<std::string> work{RUN_WITNESS, directory, "calm"};
  if (!subject.url.empty()) {
    const std::string lease = std::to_string(to_ms(subject.lease)) + "ms";
    const std::string delay = std::to_string(to_ms(subject.takeover_delay)) + "ms";
    return run_words({subject.url,
                      name,
                      id,
                      {"--lease-timeout", lease, "--takeover-delay", delay},
                      work,
                      "/dev/null"});
  }
  return {"setpriv",
          "--pdeathsig",
          "KILL",
          "etcdctl",
          "--endpoints=" + subject.endpoints,
          "lock",
          "--ttl=" + std::to_string(subject.lease / 1s),
          name,
          work[0],
          work[1],
          work[2]};
}

/// A node and, when it is killed, what it left behind.
class Node {
 public:
  Node(const Subject& subject, const std::string& name, const char* id, const TempDir& dir)
      : process_(words(subject, name, id, dir.path().string()),
                 {"ETCDCTL_API=3", "MUSTER_EPOCH=1", "MUSTER_NODE=peer", "MUSTER_NAME=peer"}) {}
  ~Node() {
    collect();
    process_.kill();
    for (const pid_t pid : below_) ::kill(pid, SIGKILL);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void send(int signal) {
    collect();
    ::kill(process_.pid(), signal);
  }

 private:
  void collect() {
    if (process_.pid() < 0) return;
    ProcessTable table;
    table.look();
    for (const ProcessEntry& entry : table.descendants(process_.pid())) below_.push_back(entry.pid);
  }

  ChildProcess process_;
  std::vector<pid_t> below_;
};

std::optional<MonoTime> await_start(const EvidenceRoom& evidence, MonoTime since) {
  const MonoTime until = boot_now() + kPatience;
  while (boot_now() < until) {
    if (const auto start = evidence.started_after(since)) return start;
    sleep_for(2ms);
  }
  return {};
}

std::optional<Trial> one_trial(const Subject& subject, int signal) {
  const TempDir dir;
  const EvidenceRoom evidence(dir.path());
  const std::string name = "failover-" + system_random().uuid();
  Node first(subject, name, "first", dir);
  if (!await_start(evidence, MonoTime::min())) return {};
  Node second(subject, name, "second", dir);
  // Long enough that the second one stands by, and any phase of the renewals is as likely.
  sleep_for(1s + system_random().between(0s, std::max(subject.lease, Duration(1s))));

  const MonoTime signalled = boot_now();
  first.send(signal);
  const auto next = await_start(evidence, signalled);
  if (!next) return {};
  sleep_for(20ms);
  Trial trial;
  trial.seconds = std::chrono::duration<double>(*next - signalled).count();
  // The claims come in pairs, first and last moment; the first pair is the work that was lost.
  trial.ran_twice = evidence.claims().at(1).to > *next;
  return trial;
}

std::vector<Trial> trials(const Subject& subject, int signal, int count) {
  // Long leases wait most of the time, so these are tried at once.
  const bool at_once = subject.lease > 3s;
  std::vector<std::optional<Trial>> found(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (auto& trial : found) {
    threads.emplace_back([&] { trial = one_trial(subject, signal); });
    if (!at_once) threads.back().join();
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  std::vector<Trial> all;
  for (const auto& trial : found) {
    if (trial) all.push_back(*trial);
  }
  return all;
}

void measure(Report& report, const Subject& subject, int signal, int count,
             std::vector<std::vector<std::string>>& table) {
  const std::string what = subject.name + (signal == SIGKILL ? ", kill -9" : ", SIGTERM");
  const std::vector<Trial> all = trials(subject, signal, count);
  if (!subject.url.empty())
    report.at_least(what + ": trials with a successor", static_cast<double>(all.size()), count, "");
  if (all.empty()) {
    table.push_back({what, "0", "-", "-", "-", "-", "-"});
    return;
  }
  std::vector<double> seconds;
  int twice = 0;
  for (const Trial& trial : all) {
    seconds.push_back(trial.seconds);
    twice += trial.ran_twice ? 1 : 0;
  }
  const auto value = [&](double p) { return figure(percentile(seconds, p), 3); };
  table.push_back({what, std::to_string(all.size()), value(0), value(0.5), value(0.9), value(1),
                   std::to_string(twice)});
  report.data()[what] = {{"seconds", seconds}, {"ran_twice", twice}};
  const auto bar = signal == SIGKILL ? subject.bar_killed : subject.bar_stopped;
  if (bar) report.at_most(what + ", median", percentile(seconds, 0.5), *bar, "s");
  if (!subject.url.empty()) report.at_most(what + ": ran twice", twice, 0, "");
}

int run(int count) {
  ::setenv("AWS_ACCESS_KEY_ID", RadosGateway::kAccessKey, 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", RadosGateway::kSecretKey, 1);
  ::unsetenv("AWS_SESSION_TOKEN");
  Report report("failover");
  const TempDir dir;
  testing::EtcdCluster etcd({.members = 3, .extra_args = {}});
  RadosGateway gateway;
  const testing::PostgresServer postgres;
  const std::string file = "file://" + (dir.path() / "store").string();
  const std::vector<Subject> subjects = {
      {"etcdctl lock, ttl 2 s", 2s, "", etcd.endpoints()},
      // Lease, takeover delay, and as much as a server of ours may take.
      {"muster run, etcd, lease 2 s", 2s, etcd.url("two"), "", 3.3, 0.1},
      {"muster run, etcd, lease 500 ms, takeover delay 0", 500ms, etcd.url("short"), "", 1, 0.1,
       0s},
      {"muster run, file, lease 500 ms, takeover delay 0", 500ms, file, "", 1, 0.1, 0s},
      {"muster run, PostgreSQL, lease 2 s", 2s, postgres.url("two"), "", 3, 0.3},
      {"muster run, S3, lease 2 s", 2s, gateway.url("short"), "", 5, 5},
      {"muster run, etcd, default lease 6 s", 6s, etcd.url("default"), "", 10, 5},
      {"muster run, file, default lease 6 s", 6s, file, "", 10, 5},
      {"muster run, S3, default lease 6 s", 6s, gateway.url("default")},
  };
  report.title("from the signal to the work on the next node, seconds");
  std::vector<std::vector<std::string>> table;
  for (const Subject& subject : subjects) {
    measure(report, subject, SIGKILL, count, table);
    measure(report, subject, SIGTERM, count, table);
  }
  report.table({"what", "trials", "min", "median", "p90", "max", "ran twice"}, table);
  return report.finish();
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 10;
  if (argc > 2 || trials <= 0) {
    std::fprintf(stderr, "usage: bench_failover [TRIALS]\n");
    return 64;
  }
  return muster::bench::run(trials);
}
