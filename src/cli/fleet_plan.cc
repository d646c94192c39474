#include "cli/fleet_plan.h"

#include <algorithm>
#include <cmath>

namespace muster::cli {
namespace {

double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

// Worker files are written at the first heartbeat after 0.45 of the worker timeout, so that two
// lost requests in a row do no harm. The leader writes none while it renews, and lists them with
// every heartbeat.
double per_cycle(Duration worker_timeout, double cycle) {
  return 1.0 / std::max(1.0, std::ceil(0.45 * seconds(worker_timeout) / cycle));
}

}  // namespace

FleetPlan plan_fleet(const CoordinatorOptions& options, std::uint32_t workers,
                     const S3Terms& terms) {
  FleetPlan plan;
  // The last renewal is seen one look late; after a full lease everybody but the first waits a
  // turn of at most a fifteenth of it. On the way: the look, two reads of the state, the list of
  // the workers, the floor read and raised, the state written.
  const Duration turn = std::min<Duration>(1s, options.lease_timeout / 15);
  plan.failover_worst =
      options.heartbeat_interval + options.heartbeat_jitter + options.lease_timeout + turn;
  plan.failover_worst_slow_store = plan.failover_worst + 7 * options.timings().request_timeout;

  const double leader_cycle = seconds(options.heartbeat_interval);
  const double follower_cycle = leader_cycle + seconds(options.heartbeat_jitter) / 2;
  const double follower_puts = per_cycle(options.worker_timeout, follower_cycle);
  const double leader_puts = 1;
  const double pages = std::ceil(workers / terms.keys_per_list);
  const double leader_lists = pages;
  plan.requests_per_follower_cycle = 1 + follower_puts;
  plan.requests_per_leader_cycle = leader_puts + leader_lists;

  const double followers = workers - 1.0;
  const double follower_cycles = 3600 / follower_cycle * followers;
  const double leader_cycles = 3600 / leader_cycle;
  plan.gets_per_hour = follower_cycles;
  plan.puts_per_hour = follower_cycles * follower_puts + leader_cycles * leader_puts;
  plan.lists_per_hour = leader_cycles * leader_lists;
  plan.dollars_per_month = terms.hours_per_month * (plan.puts_per_hour * terms.put_dollars +
                                                    plan.gets_per_hour * terms.get_dollars +
                                                    plan.lists_per_hour * terms.list_dollars);
  plan.workers_max =
      static_cast<std::uint64_t>(std::min(terms.puts_per_second * follower_cycle / follower_puts,
                                          terms.gets_per_second * follower_cycle));
  return plan;
}

}  // namespace muster::cli
