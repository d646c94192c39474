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

#include "base/check.h"
#include "base/text.h"
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

/// Whoever ends a whole session or control group politely must not end the guardian before what it
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
  explicit Guard(const Charge& charge)
      : charge_(charge),
        deadline_(charge.deadline),
        child_signals_(child_signals()),
        alarm_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
        parent_(open_pidfd(charge.parent)) {
    MUSTER_CHECK(child_signals_.valid() && alarm_.valid());
    ignore_signals();
    // From here on, whoever loses its parent below this process becomes a child of it.
    MUSTER_CHECK(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  }

  /// False when there is nothing to guard.
  bool start() {
    // Asked after the pidfd was opened, so that it names the right process if this holds.
    if (!parent_.valid() || ::getppid() != charge_.parent) return false;
    if (boot_now() >= kill_at()) {
      return fail({Errc::kCancelled, "the lease ended before the command could be started"});
    }
    Command command{.argv = charge_.argv};
    command.directory = charge_.directory;
    command.death_signal = SIGKILL;
    const auto process = spawn(command);
    if (!process) return fail(process.error());
    leader_ = process->pid();
    report({.kind = Report::Kind::kStarted, .pid = leader_});
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
    report({.kind = Report::Kind::kGone,
            .pid = leader_,
            .code = leader_status_->code,
            .signal = leader_status_->signal});
  }

 private:
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

  void terminate() {
    terminating_ = true;
    table_.look();
    for (const ProcessEntry& each : table_.descendants(::getpid())) {
      if (each.ended()) continue;
      ::kill(each.pid, SIGTERM);
      // A stopped process hears nothing but KILL until it goes on.
      ::kill(each.pid, SIGCONT);
    }
  }

  /// As terminate(), with the end in sight.
  void terminate_within_grace(MonoTime now) {
    if (!terminating_) terminate();
    kill_by_ = std::min(kill_by_, now + charge_.grace);
  }

  void kill_everything() {
    // One call that no fork within the group can outrun. The leader is not reaped before all the
    // others are gone, so the number still names its group.
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
    for (const ProcessEntry& each : table_.all()) {
      if (each.parent != self || each.pid == leader_ || !each.ended()) continue;
      siginfo_t info{};
      ::waitid(P_PID, static_cast<id_t>(each.pid), &info, WEXITED | WNOHANG);
    }
  }

  /// Whether the leader and all its descendants have ended, reaped or not. A look can miss what is
  /// born during it; the kernel's word is final. Not asked for those that have ended, it knows no
  /// child that could still stop when none lives; and a living descendant has a living ancestor, or
  /// this subreaper, as its parent.
  static bool nothing_left() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
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

  const Charge& charge_;
  MonoTime deadline_;
  UniqueFd child_signals_;
  UniqueFd alarm_;
  UniqueFd parent_;
  ProcessTable table_;
  pid_t leader_ = 0;
  std::optional<ExitStatus> leader_status_;
  bool parent_dead_ = false;
  bool terminating_ = false;
  MonoTime kill_by_ = MonoTime::max();
  bool killing_ = false;
  MonoTime killed_at_{};
  bool told_unkillable_ = false;
};

std::string nanoseconds(Duration d) {
  return std::to_string(std::max<Duration::rep>(0, d.count()));
}

}  // namespace

std::vector<std::string> to_arguments(const Charge& charge) {
  std::vector<std::string> result{std::to_string(charge.epoch.value()),
                                  nanoseconds(charge.deadline.time_since_epoch()),
                                  nanoseconds(charge.kill_margin),
                                  nanoseconds(charge.warning),
                                  nanoseconds(charge.grace),
                                  std::to_string(charge.parent),
                                  charge.directory};
  result.insert(result.end(), charge.argv.begin(), charge.argv.end());
  return result;
}

Result<Charge> from_arguments(const std::vector<std::string>& arguments) {
  constexpr std::size_t kNumbers = 6;
  std::array<std::uint64_t, kNumbers> numbers{};
  bool good = arguments.size() > kNumbers + 1;
  for (std::size_t i = 0; good && i < kNumbers; ++i) {
    const auto number = parse_unsigned(arguments[i]);
    good = number && *number <= static_cast<std::uint64_t>(Duration::max().count());
    if (good) numbers[i] = *number;
  }
  if (!good) return {Errc::kInvalid, "this program is started by muster, not by hand"};
  const auto duration = [&](std::size_t i) { return Duration(numbers[i]); };
  return Charge{.epoch = Epoch(numbers[0]),
                .deadline = MonoTime(duration(1)),
                .kill_margin = duration(2),
                .warning = duration(3),
                .grace = duration(4),
                .parent = static_cast<pid_t>(numbers[5]),
                .directory = arguments[kNumbers],
                .argv = {arguments.begin() + kNumbers + 1, arguments.end()}};
}

int run(const Charge& charge) {
  Guard guard(charge);
  if (!guard.start()) return 1;
  guard.watch();
  return 0;
}

}  // namespace muster::guardian
