#pragma once

#include "base/time.h"
#include "bench/report.h"

namespace muster::bench {

/// How the whole run is made.
struct ServerRun {
  Duration time = 5s;  ///< Of each measurement.
  bool tmpfs = false;  ///< Without a disk under the servers.
};

/// The rows of `bench_server`, each part with servers of its own. Every row measures etcd in the
/// same way, close in time to musterd, and judges the ratio.

/// Acknowledged writes: one at a time, 256 in flight, on a pipelined stream.
void measure_commands(Report& report, const ServerRun& run);
/// What a heartbeat costs the server, beside a keepalive of etcd's leases.
void measure_heartbeats(Report& report, const ServerRun& run);
/// How long one change takes to the last of 5,000 watchers, and what that costs.
void measure_watches(Report& report, const ServerRun& run);
/// GetTopology of 100 nodes beside a range of 100 keys.
void measure_reads(Report& report, const ServerRun& run);
/// Idle cost, and whether a snapshot of 100,000 nodes holds anybody up.
void measure_standing(Report& report, const ServerRun& run);
/// How long nobody acknowledges a write when the leading server ends.
void measure_failover(Report& report, const ServerRun& run);

/// How long the muster command takes to start, and what it loads.
void measure_start(Report& report, const ServerRun& run);

}  // namespace muster::bench
