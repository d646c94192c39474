#include "bench/s3db_peer.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "platform/system_clock.h"

namespace muster::bench {
namespace {

const std::string kSource = MUSTER_SOURCE_DIR;

bool runs(const ChildProcess& worker) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(worker.pid());
  return ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

/// None when it has ended by itself.
std::optional<std::uint64_t> heartbeats(ChildProcess& worker) {
  if (runs(worker)) worker.write_line("count");
  for (std::string line = worker.read_line(); !line.empty(); line = worker.read_line()) {
    const auto event = nlohmann::json::parse(line);
    if (event.at("event") == "count") return event.at("heartbeats");
  }
  std::fprintf(stderr, "a worker of s3db.js has ended by itself, with %d\n", worker.finish());
  return std::nullopt;
}

}  // namespace

std::optional<S3dbPeer> S3dbPeer::install() {
  ChildProcess install(
      {kSource + "/tools/testing/s3db_install.sh", kSource + "/build/npm-s3db", kVersion});
  const std::string modules = install.read_line();
  if (install.finish() == 0) return S3dbPeer(modules);
  std::fprintf(stderr, "s3db.js is not to be had here: Muster is measured alone\n");
  return std::nullopt;
}

ElectionFleet::Command S3dbPeer::worker(int port, const std::string& prefix,
                                        const std::string& options) const {
  return [=, modules = modules_](const std::string& name_space, const std::string& id) {
    return std::vector<std::string>{"node",
                                    "--no-warnings",
                                    kSource + "/bench/s3db_worker.mjs",
                                    modules,
                                    "http://127.0.0.1:" + std::to_string(port),
                                    RadosGateway::kBucket,
                                    prefix,
                                    name_space,
                                    name_space + "-" + id,
                                    options};
  };
}

double S3dbSteadyFleet::Result::per_cycle() const {
  return static_cast<double>(requests.requests) / static_cast<double>(cycles);
}

S3dbSteadyFleet::S3dbSteadyFleet(const ElectionFleet::Command& command, std::size_t workers,
                                 std::string admin_socket)
    : admin_socket_(std::move(admin_socket)) {
  for (std::size_t i = 0; i < workers; ++i) {
    workers_.push_back(
        std::make_unique<ChildProcess>(command("fleet", "worker-" + std::to_string(i))));
  }
}

bool S3dbSteadyFleet::settle() {
  const MonoTime limit = boot_now() + 2min;
  while (boot_now() < limit) {
    const auto seen = look();
    if (!seen) return false;
    if (seen->fewest >= 4) return true;
    sleep_for(500ms);
  }
  return false;
}

std::optional<S3dbSteadyFleet::Snapshot> S3dbSteadyFleet::look() const {
  Snapshot seen;
  std::vector<std::uint64_t> counts;
  for (const auto& worker : workers_) {
    const auto count = heartbeats(*worker);
    if (!count) return std::nullopt;
    counts.push_back(*count);
  }
  for (const std::uint64_t count : counts) seen.cycles += count;
  seen.fewest = *std::min_element(counts.begin(), counts.end());
  seen.requests = count_requests(admin_socket_);
  seen.at = boot_now();
  return seen;
}

std::optional<S3dbSteadyFleet::Result> S3dbSteadyFleet::measure(Duration window) {
  const auto before = look();
  if (!before) return std::nullopt;
  sleep_for(window);
  const auto after = look();
  if (!after) return std::nullopt;
  return Result{after->cycles - before->cycles, after->requests - before->requests,
                after->at - before->at};
}

}  // namespace muster::bench
