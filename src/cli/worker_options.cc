#include "cli/worker_options.h"

#include "cli/options.h"
#include "core/election/records.h"

namespace muster::cli {

void declare_timings(CLI::App& app, CoordinatorOptions& options) {
  add_duration(app, "--heartbeat-interval", options.heartbeat_interval,
               "Interval between renewals, or between a follower's reads");
  add_duration(app, "--heartbeat-jitter", options.heartbeat_jitter,
               "Maximum random addition to each interval of a follower");
  add_duration(app, "--lease-timeout", options.lease_timeout,
               "Lease: a leader that has not renewed for TIME may be replaced");
  add_duration(app, "--worker-timeout", options.worker_timeout,
               "Silence after which a worker is no longer listed");
  add_duration(app, "--request-timeout", options.request_timeout,
               "Limit for one request to the store (default: a fifth of the lease, at most 5s)");
}

void declare_worker(CLI::App& app, CoordinatorOptions& options) {
  add_value(app, "--id", "ID", "", "Worker name (default: host name and process id)",
            [&options](const std::string& value) {
              options.worker_id = WorkerId(value);
              return validate_name("worker id", value);
            });
  add_text(app, "--pod", "NAME", options.pod, "Location shown to people (default: host name)");
  add_duration(app, "--startup-jitter-min", options.startup_jitter_min,
               "Minimum random wait before the first heartbeat");
  add_duration(app, "--startup-jitter-max", options.startup_jitter_max,
               "Maximum random wait before the first heartbeat");
  add_switch(app, "--enable-coordinator", options.enable_coordinator,
             "off: appear in the worker list and follow, but never lead");
  add_count(app, "--metrics-buffer-size", options.metrics_buffer_size,
            "Number of heartbeats in the latency percentiles");
  add_switch(app, "--contention-enabled", options.contention.enabled,
             "Report contention (late heartbeats)");
  add_number(app, "--contention-threshold", options.contention.threshold,
             "Heartbeat intervals from one success to the next that count as late");
  add_duration(app, "--contention-rate-limit", options.contention.rate_limit,
               "Minimum time between two reports of contention");
  add_count(app, "--circuit-breaker-failure-threshold", options.circuit_breaker.failure_threshold,
            "Failed heartbeats in a row that open the circuit breaker");
  add_duration(app, "--circuit-breaker-reset-timeout", options.circuit_breaker.reset_timeout,
               "Time from open to half-open");
  add_count(app, "--circuit-breaker-half-open-max-attempts",
            options.circuit_breaker.half_open_max_attempts,
            "Attempts in half-open before it opens again");
}

}  // namespace muster::cli
