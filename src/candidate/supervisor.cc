#include "candidate/supervisor.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"

namespace muster {
namespace {

/// So long a guardian is waited for after the KILL, also where margins are shorter.
constexpr Duration kGuardianPatience = 1s;

std::string describe(const ExitStatus& status) {
  if (status.signal != 0) return "ended by signal " + std::to_string(status.signal);
  return "exited with code " + std::to_string(status.code);
}

std::string describe(GuardedCommand::Lost how) {
  return how == GuardedCommand::Lost::kAllKilled
             ? "its guardian died; every process of the command was killed, too"
             : "its guardian died; every process of the command that could be found was killed, "
               "too";
}

std::vector<ChildRules> rules_of(const std::vector<ChildSpec>& specs) {
  std::vector<ChildRules> rules;
  for (const ChildSpec& each : specs) rules.push_back(each.rules);
  return rules;
}

}  // namespace

Supervisor::Supervisor(EventLoop& loop, SupervisorOptions options, std::vector<ChildSpec> children)
    : Supervisor(loop, &loop, std::move(options), std::move(children)) {}

Supervisor::Supervisor(Loop& loop, SupervisorOptions options, std::vector<ChildSpec> children)
    : Supervisor(loop, nullptr, std::move(options), std::move(children)) {}

Supervisor::Supervisor(Loop& loop, EventLoop* for_commands, SupervisorOptions options,
                       std::vector<ChildSpec> children)
    : loop_(loop),
      for_commands_(for_commands),
      options_(std::move(options)),
      specs_(std::move(children)),
      timer_(loop) {
  // These children are written in the source, or by parse_commands() and the command line, which
  // refuse a file without commands; both give an EventLoop where there are commands.
  MUSTER_CHECK(!specs_.empty());
  if (options_.guardian.empty()) options_.guardian = find_guardian();
  for (const ChildSpec& each : specs_) {
    const bool task = std::holds_alternative<SupervisedTask>(each.work);
    if (task && options_.tasks_may_exit && !watchdog_) watchdog_.emplace();
    MUSTER_CHECK(for_commands_ != nullptr || !std::holds_alternative<Command>(each.work));
  }
}

Supervisor::~Supervisor() {
  for (auto& [i, each] : running_) {
    if (each.loop_task != nullptr) each.loop_task->stop();
  }
}

void Supervisor::start(std::shared_ptr<const LeaseGuard> guard, Callbacks callbacks) {
  // A term starts its work after that of the last one was reported gone (CandidateMachine).
  MUSTER_CHECK(!running());
  guard_ = std::move(guard);
  callbacks_ = std::move(callbacks);
  ends_.clear();
  end_ = {};
  ending_ = false;
  lost_.clear();
  lease_end_ = guard_->deadline();
  tree_.emplace(options_.supervision, rules_of(specs_));
  perform(tree_->start(guard_->deadline(), loop_.now()));
}

void Supervisor::deadline_moved() {
  if (!running()) return;
  // A closed guard has no deadline any more, but the store still keeps others out until the last
  // one that it had: so long a task may take to heed its stop.
  lease_end_ = std::max(lease_end_, guard_->deadline());
  // The guardians first: what they are told protects the work even if the rest takes long.
  for (auto& [i, each] : running_) {
    if (each.command) each.command->deadline_moved(guard_->deadline());
  }
  rearm_watchdog();
  perform(tree_->deadline_moved(guard_->deadline(), loop_.now()));
}

void Supervisor::stop(MonoTime by) {
  if (running()) perform(tree_->stop(by, loop_.now()));
}

void Supervisor::forward_signal(int number) {
  for (auto& [i, each] : running_) {
    if (each.command) each.command->signal(number);
  }
}

void Supervisor::perform(const SupervisionActions& actions) {
  for (const SupervisionAction& each : actions) perform_one(each);
  rearm();
}

void Supervisor::perform_one(const SupervisionAction& action) {
  using Kind = SupervisionAction::Kind;
  switch (action.kind) {
    case Kind::kStart:
      return start_child(action.child);
    case Kind::kTerminate:
      return signal_child(action.child, false);
    case Kind::kKill:
      return signal_child(action.child, true);
    case Kind::kReady:
      return loop_.post(lifetime_.wrap([ready = callbacks_.ready] {
        if (ready) ready();
      }));
    case Kind::kEnding:
      return on_ending(action);
    case Kind::kEnded:
      return on_ended();
    case Kind::kUnkillable:
      return on_unkillable(action.child);
  }
}

void Supervisor::start_child(std::size_t i) {
  const ChildSpec& spec = specs_[i];
  // Supervision starts a child anew only after child_ended(), which comes when it was taken out.
  MUSTER_CHECK(!running_.contains(i));
  ends_.erase(i);
  if (const auto* command = std::get_if<Command>(&spec.work)) return start_command(i, *command);
  if (const auto* task = std::get_if<LoopTask>(&spec.work)) return start_loop_task(i, *task);
  start_task(i, std::get<SupervisedTask>(spec.work));
}

void Supervisor::start_command(std::size_t i, const Command& command) {
  const SupervisionOptions& timing = options_.supervision;
  const Duration grace = specs_[i].rules.shutdown.value_or(Duration{0});
  auto guarded = std::make_unique<GuardedCommand>(
      *for_commands_,
      // Half the budget later than we ourselves would ask the command to end: a guardian that has
      // to ask knows that we are frozen, and not merely a moment late.
      GuardianOptions{options_.guardian, timing.kill_margin, timing.stop_budget / 2, grace,
                      options_.control_groups, options_.adopts_orphans},
      GuardedCommand::Callbacks{.started =
                                    [this, i](pid_t pid) {
                                      tell_started(i, pid);
                                      perform(tree_->child_started(i, loop_.now()));
                                    },
                                .unkillable = [this, i](pid_t pid) { on_stuck(i, pid); },
                                .leftovers = [this, i](pid_t pid) { tell_left(i, pid); },
                                .failed =
                                    [this, i](Error error) {
                                      note(i, std::nullopt, error.message);
                                      running_.erase(i);
                                      perform(tree_->child_failed_to_start(i, loop_.now()));
                                    },
                                .gone =
                                    [this, i](ExitStatus status) {
                                      child_ended(i, status, status.success(), describe(status));
                                    },
                                .lost =
                                    [this, i](GuardedCommand::Lost how) {
                                      note(i, std::nullopt, describe(how));
                                      lost_ = specs_[i].name;
                                      running_.erase(i);
                                      perform(tree_->child_lost(i, loop_.now()));
                                    }});
  Command full = command;
  full.environment = child_environment(command);
  const Status started = guarded->start(full, guard_->epoch(), guard_->deadline());
  if (started) {
    running_[i].command = std::move(guarded);
    return;
  }
  note(i, std::nullopt, started.error().message);
  perform(tree_->child_failed_to_start(i, loop_.now()));
}

void Supervisor::start_task(std::size_t i, const SupervisedTask& task) {
  log_info("child started", fields(i));
  running_[i].task = std::make_unique<TaskRun>(
      loop_, task, guard_,
      TaskRun::Callbacks{.ready = [this, i] { perform(tree_->child_ready(i, loop_.now())); },
                         .ended =
                             [this, i](const Status& outcome) {
                               child_ended(i, std::nullopt, outcome.ok(),
                                           outcome ? "the task returned" : outcome.error().message);
                             }});
  rearm_watchdog();
  perform(tree_->child_started(i, loop_.now()));
}

void Supervisor::start_loop_task(std::size_t i, const LoopTask& task) {
  log_info("child started", fields(i));
  running_[i].loop_task = &task;
  task.start(guard_, lifetime_.wrap([this, i, guard = guard_](const Error& error) {
    if (guard == guard_ && running_.contains(i)) child_ended(i, std::nullopt, false, error.message);
  }));
  perform(tree_->child_started(i, loop_.now()));
}

void Supervisor::signal_child(std::size_t i, bool force) {
  const auto it = running_.find(i);
  if (it == running_.end()) return;
  log_info(force ? "child killed" : "child asked to end", fields(i));
  // A thread can only be asked; the watchdog has the last word.
  if (it->second.task) return it->second.task->request_stop();
  if (it->second.loop_task != nullptr) {
    std::exchange(it->second.loop_task, nullptr)->stop();
    return loop_.post(
        lifetime_.wrap([this, i] { child_ended(i, std::nullopt, true, "the task was stopped"); }));
  }
  // It has been asked before, and its end is on the way.
  if (!it->second.command) return;
  return force ? it->second.command->kill() : it->second.command->terminate();
}

void Supervisor::tell_started(std::size_t i, pid_t pid) {
  auto each = fields(i);
  each.emplace_back("pid", std::to_string(pid));
  log_info("child started", std::move(each));
  loop_.post(lifetime_.wrap([tell = callbacks_.child_started, name = specs_[i].name, pid] {
    if (tell) tell(name, pid);
  }));
}

void Supervisor::tell_left(std::size_t i, pid_t pid) {
  auto each = fields(i);
  each.emplace_back("pid", std::to_string(pid));
  log_info("child left processes behind", std::move(each));
  loop_.post(lifetime_.wrap([tell = callbacks_.child_left, name = specs_[i].name, pid] {
    if (tell) tell(name, pid);
  }));
}

void Supervisor::note(std::size_t i, std::optional<ExitStatus> status, std::string message) {
  auto each = fields(i);
  each.emplace_back("how", message);
  log_info("child ended", std::move(each));
  loop_.post(
      lifetime_.wrap([tell = callbacks_.child_ended, name = specs_[i].name, status, message] {
        if (tell) tell(name, status, message);
      }));
  ends_.insert_or_assign(i, std::pair(status, std::move(message)));
  // What caused the end is told; of an end that was asked for, the last child that ended.
  if (!ending_ || end_.cause == EndCause::kRequested) name_child(i);
}

void Supervisor::name_child(std::size_t i) {
  const auto own = ends_.find(i);
  end_.child = specs_[i].name;
  end_.status.reset();
  if (own != ends_.end()) {
    end_.status = own->second.first;
    end_.message = end_.child + ": " + own->second.second;
  } else if (end_.cause == EndCause::kStartFailed && specs_[i].rules.timeout) {
    end_.message = end_.child + ": not done within " + format_duration(*specs_[i].rules.timeout);
  } else if (end_.cause == EndCause::kStartFailed) {
    end_.message = end_.child + ": not ready in time";
  } else {
    end_.message = end_.child + ": cannot be ended";
  }
}

void Supervisor::child_ended(std::size_t i, std::optional<ExitStatus> status, bool success,
                             std::string message) {
  note(i, status, std::move(message));
  running_.erase(i);
  rearm_watchdog();
  perform(tree_->child_exited(i, success, loop_.now()));
}

void Supervisor::on_ending(const SupervisionAction& action) {
  end_.cause = action.cause;
  ending_ = true;
  if (action.child != SupervisionAction::kNoChild) name_child(action.child);
  if (action.cause == EndCause::kRequested) return;
  if (action.cause == EndCause::kDeadline) end_.message = "the lease was not renewed in time";
  log({action.cause == EndCause::kFinished ? LogLevel::kInfo : LogLevel::kWarn,
       "tree stops",
       {{"name", options_.name},
        {"epoch", std::to_string(guard_->epoch().value())},
        {"cause", to_string(action.cause)},
        {"why", end_.message}}});
  loop_.post(lifetime_.wrap([ending = callbacks_.ending, end = end_] {
    if (ending) ending(end);
  }));
}

void Supervisor::on_ended() {
  if (lost_.empty()) {
    end_.receipt = StopReceipt{guard_->epoch()};
  } else {
    end_.receipt = Error{Errc::kAmbiguous, "the guardian of " + lost_ +
                                               " died: nothing proves that its work has ended"};
  }
  loop_.post(lifetime_.wrap([ended = callbacks_.ended, end = end_] {
    if (ended) ended(end);
  }));
}

// A busy machine may be slow to let die, so it is given as long again.
void Supervisor::on_stuck(std::size_t i, pid_t pid) {
  running_.at(i).stuck_pid = std::to_string(pid);
  loop_.at(loop_.now() + options_.supervision.kill_margin / 2,
           lifetime_.wrap([this, i, guard = guard_] {
             const auto it = running_.find(i);
             const bool stuck = it != running_.end() && !it->second.stuck_pid.empty();
             if (guard == guard_ && stuck) perform(tree_->child_stuck(i, loop_.now()));
           }));
}

void Supervisor::on_unkillable(std::size_t i) {
  const auto it = running_.find(i);
  if (it == running_.end()) return;
  GuardedCommand* const command = it->second.command.get();
  if (command == nullptr) return report_unkillable(i);
  if (command->told_unkillable()) {
    // So says the guardian, which may have killed by itself. Now this side tries, and goes on.
    command->kill();
    return report_unkillable(i);
  }
  // Not the command but the guardian is stuck, or slow on a busy machine. What it guards is being
  // killed from here all the while, and its lease expires when that is due, so patience
  // costs nothing; a guardian that is ended leaves no proof.
  const Duration margin = options_.supervision.kill_margin;
  if (margin >= kGuardianPatience) return give_up_on_guardian(i);
  loop_.at(loop_.now() + kGuardianPatience - margin, lifetime_.wrap([this, i, guard = guard_] {
    if (guard == guard_ && running_.contains(i)) give_up_on_guardian(i);
  }));
}

// Without it we see to the command ourselves, and if that takes as long again, it is stuck, too.
void Supervisor::give_up_on_guardian(std::size_t i) {
  GuardedCommand& command = *running_.at(i).command;
  if (command.told_unkillable()) return report_unkillable(i);
  log_warn("guardian does not answer; killing it", fields(i));
  command.give_up_on_guardian();
  loop_.at(loop_.now() + options_.supervision.kill_margin,
           lifetime_.wrap([this, i, guard = guard_] {
             if (guard == guard_ && running_.contains(i)) report_unkillable(i);
           }));
}

void Supervisor::report_unkillable(std::size_t i) {
  auto each = fields(i);
  each.emplace_back("pid", running_.at(i).stuck_pid);
  log_error("child cannot be ended", std::move(each));
  loop_.post(lifetime_.wrap([unkillable = callbacks_.unkillable, name = specs_[i].name] {
    if (unkillable) unkillable(name);
  }));
}

void Supervisor::rearm() {
  const auto next = tree_->next_tick();
  if (!next) return timer_.cancel();
  timer_.arm(*next, [this] { perform(tree_->tick(loop_.now())); });
}

void Supervisor::rearm_watchdog() {
  if (!watchdog_) return;
  const bool tasks = std::any_of(running_.begin(), running_.end(),
                                 [](const auto& each) { return each.second.task != nullptr; });
  if (!tasks) return watchdog_->clear();
  watchdog_->watch(lease_end_ - options_.supervision.kill_margin / 2);
}

std::vector<std::string> Supervisor::child_environment(const Command& command) const {
  std::vector<std::string> result = command.environment ? *command.environment : environment();
  set_variable(result, "MUSTER_EPOCH", std::to_string(guard_->epoch().value()));
  set_variable(result, "MUSTER_NAME", options_.name);
  set_variable(result, "MUSTER_NODE", options_.node);
  set_variable(result, "MUSTER_LEASE_DEADLINE",
               std::to_string(to_ms(guard_->deadline().time_since_epoch())));
  return result;
}

std::vector<std::pair<std::string_view, std::string>> Supervisor::fields(std::size_t i) const {
  return {{"name", options_.name},
          {"child", specs_[i].name},
          {"epoch", std::to_string(guard_->epoch().value())}};
}

}  // namespace muster
