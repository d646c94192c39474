#pragma once

#include <cstdint>

#include "base/time.h"
#include "coordinator/options.h"

namespace muster::cli {

/// What a bucket allows and costs: the published limits of S3 for one prefix and its prices for
/// standard storage in US regions. Traffic and storage come to next to nothing here.
struct S3Terms {
  double puts_per_second = 3500;  ///< PUT, POST, DELETE.
  double gets_per_second = 5500;  ///< GET, HEAD, LIST.
  double put_dollars = 0.005 / 1000;
  double get_dollars = 0.0004 / 1000;
  double list_dollars = 0.005 / 1000;
  double keys_per_list = 1000;
  double hours_per_month = 730;
};

/// What a fleet with these timings does in steady state. Pure arithmetic.
struct FleetPlan {
  /// A crash right after a renewal, noticed by polling, with a store that answers at once.
  Duration failover_worst{};
  /// As above, when each request on the way takes its whole timeout.
  Duration failover_worst_slow_store{};
  /// Of a follower's requests, per heartbeat cycle.
  double requests_per_follower_cycle = 0;
  double requests_per_leader_cycle = 0;
  double puts_per_hour = 0;
  double gets_per_hour = 0;
  double lists_per_hour = 0;
  double dollars_per_month = 0;
  /// So many workers reach the bucket's limit for one prefix.
  std::uint64_t workers_max = 0;

  [[nodiscard]] double requests_per_hour() const {
    return puts_per_hour + gets_per_hour + lists_per_hour;
  }
};

/// `options` has been validated; `workers` is at least one.
[[nodiscard]] FleetPlan plan_fleet(const CoordinatorOptions& options, std::uint32_t workers,
                                   const S3Terms& terms = {});

}  // namespace muster::cli
