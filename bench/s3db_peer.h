#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "bench/election_fleet.h"
#include "bench/gateway_count.h"
#include "tests/support/radosgw.h"

namespace muster::bench {

/// s3db.js, whose coordinator Muster's follows, in the version that was read: real processes of
/// node on the same gateway, in the same run.
class S3dbPeer {
 public:
  static constexpr const char* kVersion = "21.6.2";

  /// Installs it where it is missing; nothing, and a sentence on standard error, where it cannot be
  /// had.
  static std::optional<S3dbPeer> install();

  /// A worker that keeps its files under `prefix`, asking the gateway at `port`.
  [[nodiscard]] ElectionFleet::Command worker(int port, const std::string& prefix,
                                              const std::string& options) const;

 private:
  explicit S3dbPeer(std::string modules) : modules_(std::move(modules)) {}

  std::string modules_;
};

/// Workers of one namespace that do nothing but keep their leader, behind a gateway of their own.
class S3dbSteadyFleet {
 public:
  struct Result {
    std::uint64_t cycles = 0;  ///< Heartbeats, by the workers' own count.
    GatewayCount requests;
    Duration wall{0};

    [[nodiscard]] double per_cycle() const;
  };

  S3dbSteadyFleet(const ElectionFleet::Command& command, std::size_t workers,
                  std::string admin_socket);
  /// Waits until each has beaten for a while; false when one does not, or has ended.
  [[nodiscard]] bool settle();
  /// None when one has ended meanwhile.
  [[nodiscard]] std::optional<Result> measure(Duration window);

 private:
  struct Snapshot {
    MonoTime at;
    std::uint64_t cycles = 0;
    std::uint64_t fewest = 0;  ///< Of the worker that has beaten least.
    GatewayCount requests;
  };
  [[nodiscard]] std::optional<Snapshot> look() const;

  const std::string admin_socket_;
  std::vector<std::unique_ptr<ChildProcess>> workers_;
};

}  // namespace muster::bench
