#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/gateway_count.h"
#include "coordinator/hub.h"

namespace muster::bench {

/// A fleet that does nothing but keep its leader, behind a gateway of its own so that the
/// gateway's count is this fleet's. Workers share this process, but each has its own hub: its own
/// connections, its own threads, nothing in common with the others but the bucket.
class SteadyFleet {
 public:
  struct Options {
    std::string name;
    std::size_t workers = 1;
    std::size_t plugins = 1;  ///< For each worker.
    std::string url;
    std::string admin_socket;
  };
  struct Result {
    std::uint64_t cycles = 0;  ///< Heartbeats, by the workers' own count.
    GatewayCount requests;
    Duration wall{0};
    std::uint64_t failures = 0;        ///< Heartbeats that failed.
    std::uint64_t leader_changes = 0;  ///< In the window: a steady state has none.

    [[nodiscard]] double per_cycle() const;
    /// Dollars for 30 days of this, at the prices of bench_election.cc.
    [[nodiscard]] double monthly_cost() const;
  };

  explicit SteadyFleet(Options options);

  [[nodiscard]] const Options& options() const { return options_; }
  /// Waits until all workers agree on a leader and have been beating for a while.
  void settle();
  /// Counts for at least `window`, from just after a heartbeat of the leader to just after an even
  /// number of further ones: some of its requests come with every second.
  [[nodiscard]] Result measure(Duration window);

 private:
  struct Snapshot {
    MonoTime at;
    std::uint64_t cycles = 0;
    std::uint64_t failures = 0;
    std::uint64_t epoch = 0;
    GatewayCount requests;
  };
  [[nodiscard]] Snapshot look() const;
  [[nodiscard]] const GlobalCoordinator* leader() const;
  /// Returns right after the leader has beaten; answers with its count.
  [[nodiscard]] std::uint64_t await_beat() const;

  const Options options_;
  std::vector<std::unique_ptr<Hub>> hubs_;
  std::vector<std::shared_ptr<GlobalCoordinator>> workers_;
};

/// Starts `workers` at once on an empty prefix, without startup jitter, and answers with the
/// seconds until one of them leads. Counted from the start, so probe and registration are in it.
[[nodiscard]] double time_to_first_leader(const std::string& url, std::size_t workers);

}  // namespace muster::bench
