#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/fleet_plan.h"
#include "cli/options.h"
#include "cli/worker_options.h"
#include "core/limits/request_limits.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string fixed(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

double rounded(double number) {
  return std::stod(fixed(number, 4));
}

class LintCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "lint"; }
  [[nodiscard]] const char* summary() const override {
    return "Check timings: worst-case failover, fleet limit, requests, cost";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster lint --workers 100 --lease-timeout 30s --worker-timeout 40s\n"
           "\n"
           "Refuses unsafe timings with exit code 64. Limits and prices are those that S3 "
           "publishes for\n"
           "one prefix and for standard storage in US regions. On a store that pushes changes "
           "(file, etcd,\n"
           "muster), a crash is noticed up to one heartbeat earlier.\n";
  }

  void declare(CLI::App& app) override {
    declare_timings(app, options_);
    add_count(app, "--workers", workers_, "Number of workers");
    add_count(app, "--nodes", nodes_, "Number of nodes that send heartbeats to one musterd");
    add_duration(app, "--node-heartbeat-interval", node_interval_,
                 "Interval between heartbeats of one node");
    add_text(app, "--limits-heartbeat", "RATE", heartbeat_,
             "musterd's limit of that name, PER_MINUTE:BURST");
    add_text(app, "--limits-all-heartbeats", "RATE", all_heartbeats_, "The same");
    add_text(app, "--limits-all-writes", "RATE", all_writes_, "The same");
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (Status status = read_limits(); !status) return status.error();
    if (Status status = options_.validate(); !status) return status.error();
    const FleetPlan plan = plan_fleet(options_, workers_);
    if (json_) {
      terminal.line(to_json(plan));
    } else {
      terminal.out << to_text(plan);
    }
    return kDone;
  }

 private:
  [[nodiscard]] Status read_limits() {
    const std::tuple<const char*, std::string*, Rate*> rates[] = {
        {"--limits-heartbeat", &heartbeat_, &limits_.heartbeat},
        {"--limits-all-heartbeats", &all_heartbeats_, &limits_.all_heartbeats},
        {"--limits-all-writes", &all_writes_, &limits_.all_writes}};
    for (const auto& [name, text, target] : rates) {
      const auto rate = parse_rate(*text);
      if (!rate) return {Errc::kInvalid, std::string(name) + ": " + rate.error().message};
      *target = *rate;
    }
    if (node_interval_ <= Duration(0)) {
      return {Errc::kInvalid, "--node-heartbeat-interval must be above zero"};
    }
    if (Status status = limits_.validate(node_interval_); !status) return status.error();
    const std::uint64_t nodes_max = limits_.nodes_max(node_interval_);
    if (nodes_ <= nodes_max) return Done{};
    return {Errc::kInvalid, "the limits of one musterd allow " + std::to_string(nodes_max) +
                                " nodes with a heartbeat every " + format_duration(node_interval_) +
                                ", not " + std::to_string(nodes_) + "; raise --" +
                                tightest().first};
  }

  /// Which of the limits on all heartbeats comes first.
  [[nodiscard]] std::pair<std::string, Rate> tightest() const {
    if (limits_.all_writes.per_minute < limits_.all_heartbeats.per_minute) {
      return {"limits-all-writes", limits_.all_writes};
    }
    return {"limits-all-heartbeats", limits_.all_heartbeats};
  }

  [[nodiscard]] std::string to_json(const FleetPlan& plan) const {
    const Json json = {{"workers", workers_},
                       {"heartbeatInterval", to_ms(options_.heartbeat_interval)},
                       {"heartbeatJitter", to_ms(options_.heartbeat_jitter)},
                       {"leaseTimeout", to_ms(options_.lease_timeout)},
                       {"workerTimeout", to_ms(options_.worker_timeout)},
                       {"requestTimeout", to_ms(options_.timings().request_timeout)},
                       {"failoverWorstMs", to_ms(plan.failover_worst)},
                       {"failoverWorstSlowStoreMs", to_ms(plan.failover_worst_slow_store)},
                       {"workersMax", plan.workers_max},
                       {"requestsPerFollowerCycle", rounded(plan.requests_per_follower_cycle)},
                       {"requestsPerLeaderCycle", rounded(plan.requests_per_leader_cycle)},
                       {"requestsPerHour", rounded(plan.requests_per_hour())},
                       {"putsPerHour", rounded(plan.puts_per_hour)},
                       {"getsPerHour", rounded(plan.gets_per_hour)},
                       {"listsPerHour", rounded(plan.lists_per_hour)},
                       {"dollarsPerMonth", rounded(plan.dollars_per_month)},
                       {"nodeHeartbeatInterval", to_ms(node_interval_)},
                       {"nodesMax", limits_.nodes_max(node_interval_)}};
    return json.dump();
  }

  [[nodiscard]] std::string to_text(const FleetPlan& plan) const {
    const LeaseTimings timings = options_.timings();
    const auto time = [](Duration d) {
      return format_duration(std::chrono::milliseconds(to_ms(d)));
    };
    return format_table(
        {{"timings", "safe: a leader stops within " + time(timings.terms.held()) + " of a " +
                         time(options_.lease_timeout) + " lease"},
         {"failover",
          "at worst " + time(plan.failover_worst) + " after a crash (heartbeat " +
              time(options_.heartbeat_interval) + " + jitter " + time(options_.heartbeat_jitter) +
              " + lease " + time(options_.lease_timeout) + " + turn); " +
              time(plan.failover_worst_slow_store) +
              " if each request takes its whole timeout of " + time(timings.request_timeout)},
         {"fleet", "at most " + std::to_string(plan.workers_max) +
                       " workers (S3: 3500 writes and 5500 reads a second for one prefix)"},
         {"requests", fixed(plan.requests_per_hour(), 0) + " an hour for " +
                          std::to_string(workers_) + " workers: " + fixed(plan.puts_per_hour, 0) +
                          " PUT, " + fixed(plan.gets_per_hour, 0) + " GET, " +
                          fixed(plan.lists_per_hour, 0) + " LIST"},
         {"cost", "$" + fixed(plan.dollars_per_month, 2) +
                      " a month (US standard prices: $0.005 per 1000 PUT or LIST, $0.0004 per 1000 "
                      "GET; 730 hours)"},
         {"musterd", "at most " + std::to_string(limits_.nodes_max(node_interval_)) +
                         " nodes for one server, with a heartbeat every " + time(node_interval_) +
                         " (" + tightest().first + ": " +
                         std::to_string(tightest().second.per_minute) + " a minute, " +
                         std::to_string(tightest().second.burst) + " at once)"}});
  }

  CoordinatorOptions options_;
  std::uint32_t workers_ = 3;
  RequestLimitOptions limits_;
  std::uint32_t nodes_ = 1;
  Duration node_interval_ = 10s;
  std::string heartbeat_ = "10:5";
  std::string all_heartbeats_ = "10000:500";
  std::string all_writes_ = "50000:1000";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_lint_command() {
  return std::make_unique<LintCommand>();
}

}  // namespace muster::cli
