#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/fleet_plan.h"
#include "cli/options.h"
#include "cli/worker_options.h"

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
    return "What these timings mean: failover, fleet limit, requests, cost";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster lint --workers 100 --lease-timeout 30s --worker-timeout 40s\n"
           "\n"
           "Refuses unsafe timings with exit code 64. Limits and prices are those that S3 "
           "publishes for\n"
           "one prefix and for standard storage in US regions; a store that pushes changes (file, "
           "etcd, muster)\n"
           "notices a crash up to one heartbeat earlier.\n";
  }

  void declare(CLI::App& app) override {
    declare_timings(app, options_);
    add_count(app, "--workers", workers_, "How many workers take part");
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
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
                       {"dollarsPerMonth", rounded(plan.dollars_per_month)}};
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
                      "GET; 730 hours)"}});
  }

  CoordinatorOptions options_;
  std::uint32_t workers_ = 3;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_lint_command() {
  return std::make_unique<LintCommand>();
}

}  // namespace muster::cli
