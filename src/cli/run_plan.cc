#include "cli/run_plan.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "cli/commands_file.h"
#include "cli/options.h"
#include "core/election/records.h"
#include "platform/host.h"

namespace muster::cli {
namespace {

/// Sets `target` by `parse`, which says kInvalid for what it does not take.
template <typename T, typename Parse>
Setter into(std::optional<T>& target, Parse parse) {
  return [&target, parse](const std::string& value) -> Status {
    const auto parsed = parse(value);
    if (!parsed) return parsed.error();
    target = *parsed;
    return Done{};
  };
}

/// A time that follows from the lease unless it is given, and cannot be none.
Setter above_zero(Duration& target) {
  return [&target](const std::string& value) -> Status {
    const auto parsed = parse_duration(value);
    if (!parsed) return parsed.error();
    if (*parsed == Duration(0)) {
      return {Errc::kInvalid,
              "the value must be above zero; omit the option for a fraction of "
              "the lease"};
    }
    target = *parsed;
    return Done{};
  };
}

/// One of two words.
Setter choice(bool& target, std::string yes, std::string no) {
  return [&target, yes = std::move(yes), no = std::move(no)](const std::string& value) -> Status {
    if (value != yes && value != no) {
      return {Errc::kInvalid, "\"" + value + "\" is neither " + yes + " nor " + no};
    }
    target = value == yes;
    return Done{};
  };
}

std::optional<std::string> variable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// No store answers, and no command ends, in a fraction of less.
constexpr Duration kLeaseMin = 100ms;

// A hook is short; what may take long is a setup in a file of commands.
constexpr Duration kGainTimeout = 10s;

// What a hook is given as text, a shell reads. Standard input and output are the command's.
ChildSpec gain_hook(const std::string& text, Duration grace) {
  muster::Command command{.argv = {"/bin/sh", "-c", text}};
  command.null_stdin = true;
  command.descriptors = {{STDERR_FILENO, STDOUT_FILENO}};
  ChildSpec hook{"on-gain", std::move(command)};
  hook.rules.setup = true;
  hook.rules.timeout = kGainTimeout;
  hook.rules.shutdown = grace;
  return hook;
}

// A command that is not there is found now, and not when this node leads for the first time. What a
// setup or a hook runs before it may bring it, so nothing is said of those after one.
Status check_commands(const std::vector<ChildSpec>& children) {
  for (const ChildSpec& each : children) {
    const auto* command = std::get_if<muster::Command>(&each.work);
    if (command == nullptr) continue;
    if (const Status found = can_run(*command); !found) {
      return {Errc::kInvalid, found.error().message};
    }
    if (each.rules.setup) break;
  }
  return Done{};
}

// A command of `muster run` inherits MUSTER_NAME, and would wait for the one that it runs under.
Status check_nesting(const std::string& name) {
  if (!variable("MUSTER_GUARDIAN") || variable("MUSTER_NAME") != name) return Done{};
  return {Errc::kInvalid, "this muster run runs under another one with the name " + name +
                              ", and would wait for it; give another --name"};
}

}  // namespace

void RunOptions::declare(CLI::App& app) {
  arbiter_.declare(app);
  arbiter_.declare_name(app);
  add_value(app, "--id", "ID", "", "Node name (default: host name and process id)",
            [this](const std::string& value) {
              given_.node = WorkerId(value);
              return validate_name("node", value);
            });
  add_text(app, "--pod", "NAME", given_.pod, "Location shown to people (default: host name)");
  add_text(app, "--commands", "FILE", commands_file_,
           "YAML file with several commands instead of one after --");
  add_value(app, "--restart", "POLICY", "temporary",
            "Restart the command after --: permanent (always), transient (unless it exits with 0), "
            "temporary (never)",
            into(restart_, parse_restart_policy));
  declare_terms(app);
  declare_timings(app);
  add_value(app, "--http", "HOST:PORT", "",
            "Address that answers GET /leader, /metrics and /healthz; port 0 takes a free one",
            into(http_, parse_http_address));
  add_flag(app, "--check", check_,
           "Print how commands are protected on this machine (cgroup or process table) and what is "
           "not protected, then exit");
  add_flag(app, "--json", json_, "Print events as JSON lines to standard error");
}

void RunOptions::declare_terms(CLI::App& app) {
  add_flag(app, "--try", try_once_,
           "Exit with 70 as soon as another node leads; a dead leader does not count as leading");
  add_value(app, "--wait", "TIME", "", "Exit with 70 unless this node leads within TIME",
            into(wait_, [](const std::string& text) { return parse_duration(text); }));
  add_flag(app, "--once", one_term_, "Exit after the first term, whatever ended it");
  add_value(app, "--on-loss", "exit|recampaign", "recampaign",
            "After a lost lease: exit with 71, or campaign again",
            choice(exit_on_loss_, "exit", "recampaign"));
  add_value(app, "--on-failure", "exit|recampaign", "exit",
            "After a command that cannot be kept running: exit with 73, or campaign again later",
            choice(exit_on_failure_, "exit", "recampaign"));
  add_text(
      app, "--on-gain", "SHELL-COMMAND", on_gain_,
      "Hook that must succeed before the command starts in each term; prints to standard error");
  add_text(app, "--on-loss-exec", "SHELL-COMMAND", on_loss_exec_,
           "Hook that runs after each term, when the command has ended; prints to standard error");
  add_value(app, "--eligible", "on|off", "on", "off: take part without ever leading",
            into(eligible_, [](const std::string& text) { return parse_bool(text); }));
}

void RunOptions::declare_timings(CLI::App& app) {
  const auto duration = [](const std::string& text) { return parse_duration(text); };
  add_duration(app, "--lease-timeout", given_.lease,
               "Lease: a leader that has not renewed for TIME may be replaced");
  add_value(
      app, "--heartbeat-interval", "TIME", "",
      "Interval between renewals, or between a standby's reads (default: a fifth of the lease)",
      above_zero(given_.renew_interval));
  add_value(app, "--heartbeat-jitter", "TIME", "",
            "Random addition to each read of a standby (default: a fifth of that interval)",
            into(given_.renew_jitter, duration));
  add_value(app, "--request-timeout", "TIME", "",
            "Limit for one request to the store (default: a fifth of the lease, at most 5s)",
            above_zero(given_.request_timeout));
  add_value(app, "--grace", "TIME", "",
            "Time between TERM and KILL (default: a fifth of the lease, at most 5s)",
            into(given_.stop_grace, duration));
  add_value(app, "--kill-margin", "TIME", "",
            "Time between KILL and the end of the lease (default: a tenth of the lease)",
            above_zero(given_.kill_margin));
  add_value(app, "--worker-timeout", "TIME", "",
            "Silence after which a node is no longer listed (default: four thirds of the lease)",
            above_zero(given_.worker_timeout));
  add_value(app, "--takeover-delay", "TIME", "1s",
            "Extra wait after the lease has expired before taking over",
            into(takeover_delay_, duration));
  add_value(app, "--election-interval", "TIME", "5s",
            "Maximum interval between two election_check events",
            into(election_interval_, duration));
  add_duration(app, "--startup-jitter-min", startup_jitter_min_,
               "Minimum random wait before taking part");
  add_duration(app, "--startup-jitter-max", startup_jitter_max_,
               "Maximum random wait before taking part");
}

// The variables are the weakest source: a default that a deployment sets.
Result<CandidateOptions> RunOptions::candidate() const {
  const auto environment = CandidateOptions::from_environment(variable);
  if (!environment) return environment.error();
  CandidateOptions options = given_;
  options.eligible = eligible_.value_or(environment->eligible);
  options.election_interval = election_interval_.value_or(environment->election_interval);
  options.takeover_delay = takeover_delay_.value_or(environment->takeover_delay);
  if (options.node.value().empty()) options.node = WorkerId(default_worker_id());
  if (options.pod.empty()) options.pod = host_name();
  if (options.lease > Duration(0) && options.lease < kLeaseMin) {
    return {Errc::kInvalid, "a lease of " + format_duration(options.lease) +
                                " is too short to be renewed; give --lease-timeout " +
                                format_duration(kLeaseMin) + " or more"};
  }
  if (Status status = options.validate(); !status) return status.error();
  return options.filled();
}

Status RunOptions::check_election() const {
  // --check -- COMMAND is about this machine, and needs no store.
  if (check_ && arbiter_.url.empty()) return Done{};
  if (Status status = arbiter_.check(); !status) return status;
  if (Status status = arbiter_.check_shared(); !status) return status;
  return check_nesting(arbiter_.name_space);
}

Status RunOptions::add_children(RunPlan& plan) const {
  const Duration grace = *plan.candidate.stop_grace;
  if (command_line_.empty() == commands_file_.empty()) {
    return {Errc::kInvalid, command_line_.empty()
                                ? "give a command after --, or --commands FILE"
                                : "there is a command after -- and also --commands; keep one"};
  }
  if (!command_line_.empty() && command_line_.front().empty()) {
    return {Errc::kInvalid, "the command after -- has an empty name"};
  }
  if (!on_gain_.empty()) plan.children.push_back(gain_hook(on_gain_, grace));
  if (!commands_file_.empty()) {
    if (restart_) return {Errc::kInvalid, "with --commands, write restart: in that file"};
    auto file = read_commands(commands_file_, grace);
    if (!file) return file.error();
    plan.supervision.strategy = file->strategy;
    plan.supervision.restarts_max = file->restarts_max;
    plan.supervision.restart_window = file->restart_window;
    for (ChildSpec& each : file->children) plan.children.push_back(std::move(each));
    return Done{};
  }
  ChildSpec child{command_line_.front(), muster::Command{.argv = command_line_}};
  child.rules.restart = restart_.value_or(RestartPolicy::kTemporary);
  child.rules.shutdown = grace;
  plan.children.push_back(std::move(child));
  plan.lends_terminal = true;
  return Done{};
}

Result<RunPlan> RunOptions::plan() const {
  if (Status status = check_election(); !status) return status.error();
  if (try_once_ && wait_) return {Errc::kInvalid, "--try and --wait exclude each other; keep one"};
  if (startup_jitter_max_ > Duration(0) && startup_jitter_min_ > startup_jitter_max_) {
    return {Errc::kInvalid, "--startup-jitter-min is longer than --startup-jitter-max"};
  }
  auto options = candidate();
  if (!options) return options.error();
  RunPlan plan;
  plan.arbiter = arbiter_;
  plan.candidate = *options;
  plan.supervision.stop_budget = *options->stop_grace;
  plan.supervision.kill_margin = options->kill_margin;
  if (Status status = add_children(plan); !status) return status.error();
  if (Status status = check_commands(plan.children); !status) return status.error();
  plan.startup_jitter_min = startup_jitter_min_;
  plan.startup_jitter_max = std::max(startup_jitter_min_, startup_jitter_max_);
  plan.try_once = try_once_;
  plan.wait = wait_;
  plan.one_term = one_term_;
  plan.exit_on_loss = exit_on_loss_ || one_term_;
  plan.exit_on_failure = exit_on_failure_ || one_term_;
  plan.on_loss_exec = on_loss_exec_;
  plan.json = json_;
  plan.http = http_;
  return plan;
}

}  // namespace muster::cli
