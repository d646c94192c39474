#include "bench/s3db_peer.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

const std::string kSource = MUSTER_SOURCE_DIR;

std::uint64_t heartbeats(ChildProcess& worker) {
  worker.write_line("count");
  while (true) {
    const auto line = nlohmann::json::parse(worker.read_line());
    if (line.at("event") == "count") return line.at("heartbeats");
  }
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

void S3dbSteadyFleet::settle() {
  const MonoTime limit = boot_now() + 2min;
  while (look().fewest < 4) {
    MUSTER_CHECK(boot_now() < limit);
    sleep_for(500ms);
  }
}

S3dbSteadyFleet::Snapshot S3dbSteadyFleet::look() const {
  Snapshot seen;
  std::vector<std::uint64_t> counts;
  for (const auto& worker : workers_) counts.push_back(heartbeats(*worker));
  for (const std::uint64_t count : counts) seen.cycles += count;
  seen.fewest = *std::min_element(counts.begin(), counts.end());
  seen.requests = count_requests(admin_socket_);
  seen.at = boot_now();
  return seen;
}

S3dbSteadyFleet::Result S3dbSteadyFleet::measure(Duration window) {
  const Snapshot before = look();
  sleep_for(window);
  const Snapshot after = look();
  return {after.cycles - before.cycles, after.requests - before.requests, after.at - before.at};
}

}  // namespace muster::bench
