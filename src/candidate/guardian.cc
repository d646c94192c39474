#include "candidate/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "platform/control_group.h"
#include "platform/process_table.h"
#include "platform/system_clock.h"

namespace muster::guardian {
namespace {

/// How often to look for what is left once things are to be gone.
constexpr Duration kLookInterval = 10ms;

UniqueFd child_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// A TERM to a whole session or control group must not end the guardian before what it
/// guards. The command gets default handling again when it is spawned.
void ignore_signals() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2,
                           SIGTSTP, SIGTTIN, SIGTTOU}) {
    ::sigaction(number, &ignore, nullptr);
  }
}

/// The command's pipes must not stay open because the guardian has them too.
void let_go_of_stdio() {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  MUSTER_CHECK(null.valid());
  for (const int fd : {0, 1, 2}) MUSTER_CHECK(::dup2(null.get(), fd) == fd);
}

/// One command under guard. Allocates nothing once the command runs. One thread.
class Guard {
 public:
  explicit Guard(Charge charge)
      : charge_(std::move(charge)),
        deadline_(charge_.deadline),
        child_signals_(child_signals()),
        alarm_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
        parent_(open_pidfd(charge_.parent)) {
    // Of the kernel, here and below; what muster or the command says has no part in it.
    MUSTER_CHECK(child_signals_.valid() && alarm_.valid());
    ignore_signals();
    // From here on, a process below that loses its parent becomes a child of it.
    MUSTER_CHECK(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  }

  /// False when there is nothing to guard.
  bool start() {
    open_group();
    // Asked after the pidfd was opened, so that it names the right process if this holds.
    if (!parent_.valid() || ::getppid() != charge_.parent) return false;
    if (boot_now() >= kill_at()) {
      return fail({Errc::kCancelled, "the lease ended before the command could be started"});
    }
    Command command{.argv = charge_.argv};
    command.environment = charge_.environment;
    command.directory = charge_.directory;
    command.death_signal = SIGKILL;
    if (group_) command.control_group = group_->directory();
    auto process = spawn(command);
    if (!process && group_) {
      // It may be the cgroup that fails: the process table is enough to go on with.
      leave_group();
      command.control_group = -1;
      process = spawn(command);
    }
    if (!process) return fail(process.error());
    leader_ = process->pid();
    report({.kind = Report::Kind::kStarted, .pid = leader_, .code = group_ ? 1 : 0});
    let_go_of_stdio();
    return true;
  }

  void watch() {
    for (;;) {
      const MonoTime now = boot_now();
      act_on_time(now);
      reap(now);
      if (killing_) kill_everything();
      if (leader_status_ && nothing_left()) break;
      if (leader_status_) reap_adopted();
      // Well before the parent takes this guardian's silence for death.
      if (killing_ && !told_unkillable_ && now >= killed_at_ + charge_.kill_margin / 2) {
        tell_unkillable();
      }
      wait(now);
    }
    siginfo_t info{};
    while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0) {
    }
    leave_group();
    report({.kind = Report::Kind::kGone,
            .pid = leader_,
            .code = leader_status_->code,
            .signal = leader_status_->signal});
  }

  /// Nothing is in it any more, or ever was.
  void leave_group() {
    if (group_) group_->remove();
    group_.reset();
  }

 private:
  void open_group() {
    if (charge_.control_group.empty()) return;
    auto group = ControlGroup::adopt(UniqueFd(kControlGroupFd), charge_.control_group);
    if (!group) return;
    group->guard();
    group_.emplace(std::move(*group));
  }

  [[nodiscard]] MonoTime kill_at() const { return deadline_ - charge_.kill_margin; }
  [[nodiscard]] MonoTime warn_at() const { return kill_at() - charge_.warning; }

  void act_on_time(MonoTime now) {
    if (killing_) return;
    if (now >= std::min(kill_at(), kill_by_)) {
      killing_ = true;
      killed_at_ = now;
    } else if (!terminating_ && now >= warn_at()) {
      // The parent stops its children well before; that it has not is a sign that it cannot.
      terminate();
    }
  }

  /// Calls `living` for each descendant that has not ended, at one look.
  template <typename Living>
  void each_living(Living living) {
    table_.look();
    for (const ProcessEntry& each : table_.descendants(::getpid())) {
      if (!each.ended() && !(each.pid == leader_ && leader_status_)) living(each.pid);
    }
  }

  void terminate() {
    terminating_ = true;
    const auto ask = [](pid_t pid) {
      ::kill(pid, SIGTERM);
      // A stopped process hears nothing but KILL until it goes on.
      ::kill(pid, SIGCONT);
    };
    each_living(ask);
    // Below a parent that /proc hides, only the cgroup shows them. Asking twice does no harm.
    if (group_) group_->each_process(ask);
  }

  /// As terminate(), with the end in sight.
  void terminate_within_grace(MonoTime now) {
    if (!terminating_) terminate();
    kill_by_ = std::min(kill_by_, now + charge_.grace);
  }

  void kill_everything() {
    // Calls that no fork within the cgroup, and within the group, can outrun. The leader is not
    // reaped before all the others are gone, so the number still names its group.
    if (group_) group_->kill();
    kill_group(leader_);
    table_.kill_descendants(::getpid());
  }

  /// Until the leader ends, reaps what was adopted. The leader is only noted, and keeps its number
  /// until the end.
  void reap(MonoTime now) {
    while (!leader_status_) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
      if (info.si_pid == leader_) {
        leader_status_ = info.si_code == CLD_EXITED ? ExitStatus{info.si_status, 0}
                                                    : ExitStatus{0, info.si_status};
        // What the command leaves behind is not allowed to outlive it.
        tell_leftovers();
        terminate_within_grace(now);
        return;
      }
      ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED);
    }
  }

  /// As reap(), once the kernel shows the leader whenever it is asked for anybody: the others are
  /// asked for by their numbers, or a chain of forks would use up those of the machine.
  void reap_adopted() {
    if (!killing_) table_.look();
    const pid_t self = ::getpid();
    for (const ProcessEntry& each : table_.descendants(self)) {
      const bool may_have_ended = each.ended() || each.state == ProcessEntry::kHidden;
      if (each.parent != self || each.pid == leader_ || !may_have_ended) continue;
      siginfo_t info{};
      ::waitid(P_PID, static_cast<id_t>(each.pid), &info, WEXITED | WNOHANG);
    }
  }

  /// Whether the leader and all its descendants have ended, reaped or not. A look can miss what is
  /// born during it; the kernel's word is final. Not asked for those that have ended, it knows no
  /// child that could still stop when none lives; and a living descendant has a living ancestor, or
  /// this subreaper, as its parent.
  [[nodiscard]] bool nothing_left() const {
    siginfo_t info{};
    if (group_ && group_->populated()) return false;
    return ::waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
  }

  /// What goes on in the background is ended with the process that was started. Where that one
  /// ended well and unasked, it was a daemon that was meant to go on.
  void tell_leftovers() {
    if (terminating_ || killing_ || !leader_status_->success()) return;
    pid_t left = 0;
    each_living([&left](pid_t pid) { left = pid; });
    if (left != 0) report({.kind = Report::Kind::kLeftovers, .pid = left});
  }

  void tell_unkillable() {
    pid_t pid = leader_;
    for (const ProcessEntry& each : table_.descendants(::getpid())) {
      if (!each.ended()) pid = each.pid;
    }
    told_unkillable_ = true;
    report({.kind = Report::Kind::kUnkillable, .pid = pid});
  }

  void wait(MonoTime now) {
    MonoTime next = std::min(kill_at(), kill_by_);
    if (!terminating_) next = std::min(next, warn_at());
    if (killing_ || leader_status_) next = now + kLookInterval;
    const auto ns = std::max<Duration::rep>(1, next.time_since_epoch().count());
    itimerspec spec{};
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
    // Valid whatever deadline was sent: at least 1 ns, and less than a second of them.
    MUSTER_CHECK(::timerfd_settime(alarm_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);

    const int socket = parent_dead_ ? -1 : kSocketFd;
    const int parent = parent_dead_ ? -1 : parent_.get();
    std::array<pollfd, 4> fds{{{alarm_.get(), POLLIN, 0},
                               {child_signals_.get(), POLLIN, 0},
                               {parent, POLLIN, 0},
                               {socket, POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0) MUSTER_CHECK(errno == EINTR);
    signalfd_siginfo drained;
    while (::read(child_signals_.get(), &drained, sizeof drained) > 0) {
    }
    if (fds[3].revents != 0) obey(boot_now());
    if (!parent_dead_ && fds[2].revents != 0) parent_died(boot_now());
  }

  void obey(MonoTime now) {
    Order order{};
    for (;;) {
      const ssize_t got = ::recv(kSocketFd, &order, sizeof order, MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got != sizeof order) return parent_died(now);
      if (order.epoch != charge_.epoch.value()) continue;
      switch (order.kind) {
        case Order::Kind::kDeadline:
          deadline_ = MonoTime(Duration(std::max<Duration::rep>(0, order.deadline_ns)));
          break;
        case Order::Kind::kSignal:
          if (!leader_status_) ::kill(-leader_, order.signal);
          break;
        case Order::Kind::kTerminate:
          if (!terminating_) terminate();
          break;
        case Order::Kind::kKill:
          kill_by_ = now;
          break;
      }
    }
  }

  void parent_died(MonoTime now) {
    parent_dead_ = true;
    terminate_within_grace(now);
  }

  bool fail(const Error& error) {
    Report failed{.kind = Report::Kind::kFailed, .code = static_cast<std::int32_t>(error.code)};
    error.message.copy(failed.text.data(), failed.text.size() - 1);
    report(failed);
    return false;
  }

  void report(const Report& report) {
    // Fails only when the parent is dead, and then there is nobody to tell.
    [[maybe_unused]] const ssize_t sent =
        ::send(kSocketFd, &report, sizeof report, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  const Charge charge_;
  MonoTime deadline_;
  UniqueFd child_signals_;
  UniqueFd alarm_;
  UniqueFd parent_;
  ProcessTable table_;
  std::optional<ControlGroup> group_;
  pid_t leader_ = 0;
  std::optional<ExitStatus> leader_status_;
  bool parent_dead_ = false;
  bool terminating_ = false;
  MonoTime kill_by_ = MonoTime::max();
  bool killing_ = false;
  MonoTime killed_at_{};
  bool told_unkillable_ = false;
};

}  // namespace

int run(Charge charge) {
  Guard guard(std::move(charge));
  if (!guard.start()) {
    guard.leave_group();
    return 1;
  }
  guard.watch();
  return 0;
}

}  // namespace muster::guardian
