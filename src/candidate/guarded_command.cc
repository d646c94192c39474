#include "candidate/guarded_command.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "platform/system_clock.h"

namespace muster {
namespace {

constexpr Duration kHuntInterval = 10ms;
/// So many looks in a row must have found nothing: one alone may miss what is born during it.
constexpr int kCleanLooks = 5;

}  // namespace

std::string find_guardian() {
  const std::string here = program_directory();
  const std::string beside = here + "/muster-guardian";
  const std::string installed = here + "/../libexec/muster/muster-guardian";
  return ::access(installed.c_str(), X_OK) == 0 && ::access(beside.c_str(), X_OK) != 0 ? installed
                                                                                       : beside;
}

GuardedCommand::GuardedCommand(EventLoop& loop, GuardianOptions options, Callbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      hunt_timer_(loop) {}

GuardedCommand::~GuardedCommand() {
  if (socket_.valid()) loop_.unwatch_fd(socket_.get());
  if (!guardian_) {
    if (group_) group_->kill();
    drop_group();
    return;
  }
  loop_.unwatch_fd(guardian_->pidfd());
  kill();
  pollfd ended{guardian_->pidfd(), POLLIN, 0};
  const auto patience = static_cast<int>(to_ms(options_.kill_margin) + 1000);
  if (::poll(&ended, 1, patience) != 1) give_up_on_guardian();
  (void)guardian_->wait();
  guardian_.reset();
  const MonoTime limit = loop_.now() + options_.kill_margin;
  for (int clean = 0; !status_ && clean < kCleanLooks && loop_.now() < limit;) {
    clean = kill_leftovers().none() ? clean + 1 : 0;
    ::sched_yield();
  }
  drop_group();
}

Status GuardedCommand::start(const Command& command, Epoch epoch, MonoTime deadline) {
  // Its owner starts it once. A commands file and the command line that name no program are
  // refused at the start (`muster run`).
  MUSTER_CHECK(!guardian_ && !command.argv.empty());
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return {Errc::kUnavailable, "cannot make a socket to the guardian"};
  }
  socket_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  epoch_ = epoch;
  mark_ = "MUSTER_GUARDIAN=" + system_random().uuid();

  std::vector<std::string> variables = command.environment ? *command.environment : environment();
  // Beside one that is inherited: below a guardian that is below another, both are found.
  variables.push_back(mark_);
  const auto file = guardian::to_file(variables);
  if (!file) return file.error();
  if (options_.control_group) {
    if (auto group = ControlGroup::make()) group_.emplace(std::move(*group));
  }

  Command guardian{.argv = {options_.program}};
  for (std::string& each : guardian::to_arguments({.epoch = epoch,
                           .deadline = deadline,
                           .kill_margin = options_.kill_margin,
                           .warning = options_.warning,
                           .grace = options_.grace,
                           .parent = ::getpid(),
                           .directory = command.directory,
                           .control_group = group_ ? group_->name() : "",
                           .argv = command.argv,
                           .environment = {}})) {
    guardian.argv.push_back(std::move(each));
  }
  guardian.null_stdin = command.null_stdin;
  guardian.descriptors = {{theirs.get(), guardian::kSocketFd},
                          {file->get(), guardian::kEnvironmentFd}};
  if (group_) guardian.descriptors.emplace_back(group_->directory(), guardian::kControlGroupFd);
  for (const auto& each : command.descriptors) {
    // Numbers in our source, for standard input and output: no file names any.
    MUSTER_CHECK(each.second < guardian::kSocketFd);
    guardian.descriptors.push_back(each);
  }
  auto process = spawn(guardian);
  if (!process) {
    drop_group();
    return process.error();
  }
  guardian_.emplace(std::move(*process));
  if (const auto entry = look_at(guardian_->pid())) guardian_started_ = entry->started;
  loop_.watch_fd(socket_.get(), EPOLLIN, [this](std::uint32_t) { read_reports(); });
  loop_.watch_fd(guardian_->pidfd(), EPOLLIN, [this](std::uint32_t) { on_guardian_ended(); });
  return Done{};
}

void GuardedCommand::deadline_moved(MonoTime deadline) {
  order({.kind = guardian::Order::Kind::kDeadline,
         .deadline_ns = deadline.time_since_epoch().count()});
}

void GuardedCommand::signal(int number) {
  order({.kind = guardian::Order::Kind::kSignal, .signal = number});
}

void GuardedCommand::terminate() {
  order({.kind = guardian::Order::Kind::kTerminate});
}

void GuardedCommand::kill() {
  order({.kind = guardian::Order::Kind::kKill});
  kill_beside_guardian();
}

// In case the guardian is frozen, maybe since before it could tell what it has started. While it
// is there, all that the command has started is below it, and found without reading environments.
void GuardedCommand::kill_beside_guardian() {
  if (!guardian_ || status_) return;
  if (group_) group_->kill();
  // A child of the guardian that has not reaped it: the number is still that of the command.
  const auto leader = pid_ == 0 ? std::nullopt : look_at(pid_);
  if (leader && leader->parent == guardian_->pid()) kill_group(pid_);
  table_.kill_descendants(guardian_->pid());
  hunt_timer_.arm(kHuntInterval * 5, [this] { kill_beside_guardian(); });
}

void GuardedCommand::give_up_on_guardian() {
  if (!guardian_) return;
  // What is below it now is not afterwards.
  kill_beside_guardian();
  guardian_->signal(SIGKILL);
}

void GuardedCommand::order(guardian::Order order) {
  if (!socket_.valid()) return;
  order.epoch = epoch_.value();
  // A guardian that is dead or does not read misses this. Dead: its end is reported by the pidfd.
  // Frozen: missing a later deadline makes it kill too early, never too late.
  [[maybe_unused]] const ssize_t sent =
      ::send(socket_.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void GuardedCommand::read_reports() {
  while (socket_.valid()) {
    guardian::Report report{};
    const ssize_t got = ::recv(socket_.get(), &report, sizeof report, MSG_DONTWAIT);
    // A reset is told once, ahead of the reports that came before it: the guardian has ended
    // without reading our last order.
    if (got < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got == sizeof report) {
      take(report);
      continue;
    }
    // Closed: the pidfd says the rest.
    loop_.unwatch_fd(socket_.get());
    socket_.reset();
  }
}

void GuardedCommand::take(const guardian::Report& report) {
  using Kind = guardian::Report::Kind;
  switch (report.kind) {
    case Kind::kStarted:
      pid_ = report.pid;
      if (group_ && report.code != 1) {
        log_warn("a command could not enter its cgroup; the process table protects it",
                 {{"cgroup", group_->name()}, {"pid", std::to_string(pid_)}});
        drop_group();
      }
      return callbacks_.started(pid_);
    case Kind::kLeftovers:
      if (callbacks_.leftovers) callbacks_.leftovers(report.pid);
      return;
    case Kind::kFailed:
      error_ = Error{static_cast<Errc>(report.code), report.text.data()};
      return;
    case Kind::kUnkillable:
      told_unkillable_ = true;
      return callbacks_.unkillable(report.pid);
    case Kind::kGone:
      status_ = ExitStatus{report.code, report.signal};
      return;
  }
}

void GuardedCommand::on_guardian_ended() {
  read_reports();
  hunt_timer_.cancel();
  loop_.unwatch_fd(guardian_->pidfd());
  if (socket_.valid()) loop_.unwatch_fd(socket_.get());
  socket_.reset();
  const auto ended = guardian_->try_wait();
  // Called when the pidfd is readable, which it is from the end of that process on.
  MUSTER_CHECK(ended);
  guardian_.reset();
  if (status_ || error_) drop_group();
  if (status_) return std::exchange(callbacks_.gone, {})(*status_);
  if (error_) return std::exchange(callbacks_.failed, {})(*error_);
  hunt_began_ = loop_.now();
  hunt();
}

void GuardedCommand::hunt() {
  Leftovers left = kill_leftovers();
  const bool long_enough = loop_.now() - hunt_began_ >= options_.kill_margin;
  // A process that hides both environment and arguments is not waited for without end.
  if (long_enough && !(group_ && group_->populated())) left.unclear = false;
  clean_looks_ = left.none() ? clean_looks_ + 1 : 0;
  if (clean_looks_ == kCleanLooks) {
    const bool all = group_ || options_.adopts_orphans;
    drop_group();
    return std::exchange(callbacks_.lost, {})(all ? Lost::kAllKilled : Lost::kFoundKilled);
  }
  hunt_timer_.arm(kHuntInterval, [this] { hunt(); });
  if (told_unkillable_ || left.living == 0 || !long_enough) return;
  told_unkillable_ = true;
  callbacks_.unkillable(left.living);
}

void GuardedCommand::drop_group() {
  if (group_) group_->remove();
  group_.reset();
}

// Below this process since the guardian has died: what left its session and its environment, or is
// hidden or another user's, is found here.
void GuardedCommand::kill_adopted(Leftovers& left) {
  if (!options_.adopts_orphans) return;
  each_stranger([&](pid_t pid) {
    const auto entry = look_at(pid);
    // Older ones were there before: children of what this process was before it became this
    // program.
    if (entry && (entry->ended() || entry->started < guardian_started_)) return;
    table_.kill_descendants(pid);
    if (::kill(pid, SIGKILL) != 0 && errno == ESRCH) return;
    left.living = pid;
  });
}

GuardedCommand::Leftovers GuardedCommand::kill_leftovers() {
  Leftovers left;
  if (group_ && group_->populated()) {
    group_->kill();
    left.living = pid_;  // Or any other, where they are in cgroups below it.
    left.unclear = true;
    group_->each_process([&left](pid_t pid) { left.living = pid; });
  }
  kill_adopted(left);
  const pid_t session = ::getsid(0);
  std::vector<pid_t> groups, shared;
  // Each is asked as soon as it is seen: of a chain of processes, each the parent of the next, none
  // is there for long.
  table_.look([&](const ProcessEntry& each) {
    if (each.ended()) return;
    const bool younger = each.started >= guardian_started_;
    const Trace trace = younger ? trace_of(each, mark_) : Trace::kAbsent;
    // The number may be another's since the command's group is gone, but hardly in this session.
    const bool in_group = younger && pid_ != 0 && each.group == pid_ && each.session == session;
    if (trace != Trace::kPresent && !in_group) {
      // It may have started another before it ended, too late for this look.
      if (trace == Trace::kUnclear) left.unclear = true;
      if (trace == Trace::kAbsent) shared.push_back(each.group);
      return;
    }
    ::kill(each.pid, SIGKILL);
    left.living = each.pid;
    groups.push_back(each.group);
    // A session that is not ours was made by the command, and so was each of its groups.
    if (each.session != session) kill_group(each.group);
  });
  // Those who are in a group cannot start others in it faster than this kills them.
  for (const pid_t group : groups) {
    if (std::find(shared.begin(), shared.end(), group) == shared.end()) kill_group(group);
  }
  return left;
}

}  // namespace muster
