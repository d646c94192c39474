#include <muster/run.h>

#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/connection.h"
#include "api/plugins.h"
#include "api/term.h"
#include "candidate/supervisor.h"
#include "core/election/records.h"

namespace muster::api {

/// What a pub::Supervisor is: children that have been looked at. Any thread.
class SupervisorCore {
 public:
  [[nodiscard]] static pub::Result<std::shared_ptr<const SupervisorCore>> make(
      std::vector<pub::Child> children, pub::SupervisorOptions options);
  [[nodiscard]] pub::Result<pub::RunEnd> run(const pub::Term& term) const;

 private:
  [[nodiscard]] pub::Status check(const pub::Child& child);
  [[nodiscard]] SupervisorOptions tree_options(const TermRules& rules) const;
  [[nodiscard]] std::vector<ChildSpec> specs(const pub::Term& term) const;

  std::vector<pub::Child> children_;
  pub::SupervisorOptions options_;
};

namespace {

/// Where the package muster has it.
constexpr const char* kPackagedGuardian = "/usr/libexec/muster/muster-guardian";
/// A child that is started is ready this long after it may be, or has failed to start.
constexpr Duration kStartTimeout = 10s;

pub::Error bad_child(const std::string& name, const std::string& what) {
  return {pub::Code::kInvalid, "child \"" + name + "\": " + what};
}

Command command_of(const pub::Child& child) {
  Command command;
  command.argv = child.command;
  command.directory = child.directory;
  command.environment = environment();
  for (const auto& [name, value] : child.environment) {
    set_variable(*command.environment, name, value);
  }
  return command;
}

ChildRules rules_of(const pub::Child& child) {
  ChildRules rules;
  rules.restart = static_cast<RestartPolicy>(child.restart);
  rules.shutdown = child.grace;
  rules.ready_after = child.ready_after;
  rules.setup = child.setup;
  return rules;
}

pub::RunEnd public_end(const TreeEnd& end) {
  using Cause = pub::RunEnd::Cause;
  pub::RunEnd told;
  told.cause = Cause::kFailed;
  if (end.cause == EndCause::kRequested || end.cause == EndCause::kDeadline) {
    told.cause = Cause::kTermEnded;
  }
  if (end.cause == EndCause::kFinished) told.cause = Cause::kFinished;
  told.child = end.child;
  if (end.status) told.exit = end.status->shell_code();
  told.message = end.message;
  told.proven = end.receipt.ok();
  return told;
}

/// The children of one term. Loop thread only, but for wait().
class Tree final : public TermGuest {
 public:
  Tree(TermHold& hold, SupervisorOptions options, std::vector<ChildSpec> children)
      : hold_(hold),
        kill_margin_(options.supervision.kill_margin),
        supervisor_(hold.connection().loop(), std::move(options), std::move(children)) {}

  /// False when the term is being ended.
  [[nodiscard]] bool start(std::function<void(const pub::ChildEvent&)> tell) {
    using Kind = pub::ChildEvent::Kind;
    if (!hold_.record().enter(*this)) return false;
    const auto pass_on = [&connection = hold_.connection(),
                          tell = std::move(tell)](pub::ChildEvent event) {
      if (tell) connection.call_back([tell, event = std::move(event)] { tell(event); });
    };
    supervisor_.start(hold_.record().shared_guard(),
                      {.child_started =
                           [pass_on](const std::string& child, pid_t pid) {
                             pass_on({Kind::kStarted, child, pid, ""});
                           },
                       .child_ended =
                           [pass_on](const std::string& child, const std::optional<ExitStatus>&,
                                     const std::string& how) {
                             pass_on({Kind::kEnded, child, 0, how});
                           },
                       .ended = [this](const TreeEnd& end) { ended(end); },
                       .unkillable =
                           [pass_on](const std::string& child) {
                             pass_on({Kind::kUnkillable, child, 0, ""});
                           }});
    return true;
  }
  [[nodiscard]] TreeEnd wait() { return end_.get_future().get(); }

  // A supervisor kills a margin before the time that it is given. All of `by` is for children that
  // end when they are asked.
  void stop(MonoTime by) override { supervisor_.stop(by + kill_margin_); }
  void deadline_moved() override { supervisor_.deadline_moved(); }

 private:
  void ended(const TreeEnd& end) {
    hold_.record().leave(*this);
    if (!end.receipt) hold_.record().doubt();
    end_.set_value(end);
  }

  TermHold& hold_;
  const Duration kill_margin_;
  std::promise<TreeEnd> end_;
  Supervisor supervisor_;
};

}  // namespace

pub::Status SupervisorCore::check(const pub::Child& child) {
  if (Status good = validate_name("name of a child", child.name); !good) {
    return to_public(good.error());
  }
  if (child.command.empty() == !child.task) {
    return bad_child(child.name, "give it a command or a task, and not both");
  }
  for (const auto& [option, time] :
       {std::pair("grace", child.grace), std::pair("ready_after", child.ready_after)}) {
    if (auto good = check_time(option, time, 0s); !good) {
      return bad_child(child.name, good.message());
    }
  }
  for (const auto& [name, value] : child.environment) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return bad_child(child.name, "\"" + name + "\" cannot be the name of a variable");
    }
  }
  if (child.task) return pub::Done{};
  if (Status good = can_run(command_of(child)); !good) return to_public(good.error());
  if (options_.guardian.empty()) options_.guardian = find_guardian();
  if (!can_run({.argv = {options_.guardian}})) options_.guardian = kPackagedGuardian;
  if (can_run({.argv = {options_.guardian}})) return pub::Done{};
  return {pub::Code::kUnsupported,
          "commands need muster-guardian, which is neither beside this program nor at " +
              options_.guardian +
              "; install the package muster, or set SupervisorOptions::guardian"};
}

pub::Result<std::shared_ptr<const SupervisorCore>> SupervisorCore::make(
    std::vector<pub::Child> children, pub::SupervisorOptions options) {
  if (children.empty()) return pub::Error{pub::Code::kInvalid, "there are no children to run"};
  for (const auto& [option, time] : {std::pair("restart_window", options.restart_window),
                                     std::pair("backoff_min", options.backoff_min),
                                     std::pair("backoff_max", options.backoff_max)}) {
    if (auto good = check_time(option, time, 0s); !good) return good.error();
  }
  auto core = std::make_shared<SupervisorCore>();
  core->options_ = std::move(options);
  std::set<std::string> names;
  for (const pub::Child& child : children) {
    if (auto good = core->check(child); !good) return good.error();
    if (!names.insert(child.name).second) return bad_child(child.name, "there are two");
  }
  core->children_ = std::move(children);
  return std::shared_ptr<const SupervisorCore>(std::move(core));
}

SupervisorOptions SupervisorCore::tree_options(const TermRules& rules) const {
  SupervisorOptions tree;
  tree.name = rules.name;
  tree.node = rules.node;
  tree.guardian = options_.guardian;
  tree.tasks_may_exit = rules.exits_on_overrun;
  SupervisionOptions& each = tree.supervision;
  each.strategy = static_cast<RestartStrategy>(options_.scope);
  each.restarts_max = options_.restarts_max;
  each.restart_window = options_.restart_window;
  each.backoff_min = options_.backoff_min;
  each.backoff_max = std::max(options_.backoff_min, options_.backoff_max);
  each.stop_budget = rules.stop_budget;
  each.kill_margin = rules.kill_margin;
  each.start_timeout = kStartTimeout;
  for (const pub::Child& child : children_) {
    each.start_timeout = std::max(each.start_timeout, child.ready_after + kStartTimeout);
  }
  return tree;
}

std::vector<ChildSpec> SupervisorCore::specs(const pub::Term& term) const {
  std::vector<ChildSpec> specs;
  for (const pub::Child& child : children_) {
    if (child.task) {
      const SupervisedTask task = [term, run = child.task](const TaskContext& context) -> Status {
        const pub::Status ended = run(term, context.stop);
        if (!ended) return {Errc::kInvalid, ended.message()};
        return Done{};
      };
      specs.push_back({child.name, task, rules_of(child)});
    } else {
      specs.push_back({child.name, command_of(child), rules_of(child)});
    }
  }
  return specs;
}

pub::Result<pub::RunEnd> SupervisorCore::run(const pub::Term& term) const {
  TermHold* const hold = TermHold::of(term);
  const pub::Error over{pub::Code::kConflict, "the term has ended"};
  if (hold == nullptr || !term.valid()) return over;
  Connection& connection = hold->connection();
  if (connection.in_callback()) return waits_for_callbacks("run()");
  std::unique_ptr<Tree> tree;
  bool started = false;
  connection.thread().run([&] {
    tree = std::make_unique<Tree>(*hold, tree_options(hold->record().rules()), specs(term));
    started = tree->start(options_.on_child);
  });
  std::optional<TreeEnd> end;
  if (started) end = tree->wait();
  connection.thread().run([&] { tree.reset(); });
  if (!end) return over;
  return public_end(*end);
}

static_assert(static_cast<int>(RestartPolicy::kTemporary) ==
              static_cast<int>(pub::Restart::kNever));
static_assert(static_cast<int>(RestartStrategy::kRestForOne) ==
              static_cast<int>(pub::RestartScope::kThatAndLater));

}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

Supervisor::Supervisor(std::shared_ptr<const api::SupervisorCore> core) : core_(std::move(core)) {}
Supervisor::Supervisor(const Supervisor&) = default;
Supervisor& Supervisor::operator=(const Supervisor&) = default;
Supervisor::~Supervisor() = default;

Result<Supervisor> Supervisor::make(std::vector<Child> children, SupervisorOptions options) {
  auto core = api::SupervisorCore::make(std::move(children), std::move(options));
  if (!core) return core.error();
  return Supervisor(std::move(*core));
}
Result<RunEnd> Supervisor::run(const Term& term) const {
  return core_->run(term);
}

MUSTER_END_NAMESPACE
