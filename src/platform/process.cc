#include "platform/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/check.h"
#include "base/mutex.h"
#include "base/text.h"
#include "platform/control_group.h"
#include "platform/process_table.h"

namespace muster {
namespace {

/// What spawn() has started and nobody has reaped yet.
struct Spawned {
  Mutex mutex;
  std::set<pid_t> pids MUSTER_GUARDED_BY(mutex);
};

Spawned& spawned() {
  static Spawned all;
  return all;
}

/// What failed between fork and exec, as the child tells it.
enum class Step : int { kExec, kInterpreter, kDirectory, kControlGroup, kSetup };
struct Failure {
  Step step;
  int error_number;
};

/// Descriptors are moved up here before they go to their places, out of each other's way.
constexpr int kParkingFd = 64;

/// Everything the child needs, made before the fork: the child of a threaded process may not
/// allocate.
struct Launch {
  std::vector<std::string> paths;  ///< Where the program may be, in order.
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::vector<std::pair<int, int>> descriptors;
  const char* directory;
  bool null_stdin;
  int death_signal;
  int control_group;
  pid_t parent;
  int report_fd;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& each : strings) result.push_back(const_cast<char*>(each.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> candidates(const std::string& program,
                                    const std::vector<std::string>& env) {
  if (program.find('/') != std::string::npos) return {program};
  std::string_view path = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& each : env) {
    if (each.starts_with("PATH=")) path = std::string_view(each).substr(5);
  }
  std::vector<std::string> result;
  for (const std::string_view folder : split(path, ':')) {
    result.push_back((folder.empty() ? "." : std::string(folder)) + "/" + program);
  }
  return result;
}

[[noreturn]] void fail(int report_fd, Step step) {
  const Failure failure{step, errno};
  // Nothing is left to do if even this cannot be told: the parent sees an early end instead.
  [[maybe_unused]] const ssize_t written = ::write(report_fd, &failure, sizeof failure);
  ::_exit(127);
}

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool arrange_descriptors(const Launch& launch, std::array<int, 8>& parked) {
  if (launch.null_stdin) {
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || ::dup2(null, 0) < 0) return false;
  }
  for (std::size_t i = 0; i < launch.descriptors.size(); ++i) {
    parked[i] = ::fcntl(launch.descriptors[i].first, F_DUPFD_CLOEXEC, kParkingFd);
    if (parked[i] < 0) return false;
  }
  // Closed by exec and not here, or the report of a failure would have no way out.
  if (::close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC) != 0) return false;
  for (std::size_t i = 0; i < launch.descriptors.size(); ++i) {
    if (::dup2(parked[i], launch.descriptors[i].second) < 0) return false;
  }
  return true;
}

/// The child's side. Only calls that are safe after a fork of a threaded process.
[[noreturn]] void launch_here(const Launch& launch) {
  const int report = ::fcntl(launch.report_fd, F_DUPFD_CLOEXEC, kParkingFd);
  if (report < 0) {
    errno = EMFILE;  // A limit below the number asked for is EINVAL, which would explain nothing.
    fail(launch.report_fd, Step::kSetup);
  }
  if (launch.death_signal != 0) {
    if (::prctl(PR_SET_PDEATHSIG, launch.death_signal) != 0) fail(report, Step::kSetup);
    // The parent may have died before that was set.
    if (::getppid() != launch.parent) ::_exit(127);
  }
  if (launch.control_group >= 0 && !enter_control_group(launch.control_group)) {
    fail(report, Step::kControlGroup);
  }
  if (::setpgid(0, 0) != 0) fail(report, Step::kSetup);
  if (launch.directory != nullptr && ::chdir(launch.directory) != 0) fail(report, Step::kDirectory);
  std::array<int, 8> parked;
  if (!arrange_descriptors(launch, parked)) fail(report, Step::kSetup);
  reset_signals();
  bool denied = false;
  bool there = false;
  for (const std::string& path : launch.paths) {
    ::execve(path.c_str(), launch.argv.data(), launch.envp.data());
    if (errno == EACCES) denied = true;
    // A file that is there cannot be found when it is for a program that is not.
    if (errno == ENOENT && ::access(path.c_str(), F_OK) == 0) there = true;
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) break;
    errno = denied ? EACCES : ENOENT;
  }
  fail(report, there && errno == ENOENT ? Step::kInterpreter : Step::kExec);
}

Error describe(const Failure& failure, const Command& command) {
  const std::string what = "cannot run " + command.argv.front() + ": ";
  std::array<char, 128> buffer{};
  const std::string reason = ::strerror_r(failure.error_number, buffer.data(), buffer.size());
  const bool absent = failure.error_number == ENOENT || failure.error_number == ENOTDIR;
  if (failure.step == Step::kDirectory) {
    return {absent ? Errc::kNotFound : Errc::kDenied,
            what + "its directory " + command.directory + " cannot be entered (" + reason + ")"};
  }
  if (failure.step == Step::kControlGroup) {
    return {Errc::kDenied, what + "its cgroup cannot be entered (" + reason + ")"};
  }
  if (failure.step == Step::kSetup) return {Errc::kUnavailable, what + reason};
  if (failure.step == Step::kInterpreter) {
    return {Errc::kNotFound, what + "its interpreter is missing; see its #! line"};
  }
  if (absent) return {Errc::kNotFound, what + "command not found"};
  switch (failure.error_number) {
    case EACCES:
    case EPERM:
      return {Errc::kDenied, what + "it is not executable by this user"};
    case ENOEXEC:
      return {Errc::kInvalid, what + "it is not a program; a script must begin with a #! line"};
    case E2BIG:
      return {Errc::kInvalid, what + "its arguments and environment are too long"};
    default:
      return {Errc::kUnavailable, what + reason};
  }
}

/// While SIGCHLD is ignored, as some parents leave it to their children, the kernel keeps no exit
/// status and wait fails.
void keep_exit_statuses() {
  struct sigaction action {};
  ::sigaction(SIGCHLD, nullptr, &action);
  const bool ignored = action.sa_handler == SIG_IGN;
  if (!ignored && (action.sa_flags & SA_NOCLDWAIT) == 0) return;
  if (ignored) action.sa_handler = SIG_DFL;
  action.sa_flags &= ~SA_NOCLDWAIT;
  ::sigaction(SIGCHLD, &action, nullptr);
}

/// Not between the fork and the entry may anybody take the child for a stranger.
pid_t fork_and_enter(const Launch& launch) {
  const MutexLock lock(spawned().mutex);
  const pid_t pid = ::fork();
  if (pid == 0) launch_here(launch);
  if (pid > 0) spawned().pids.insert(pid);
  return pid;
}

ExitStatus status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {info.si_status, 0};
  return {0, info.si_status};
}

}  // namespace

// By number: glibc 2.36 declares both calls without extern "C", so C++ cannot link them.
UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

std::optional<ExitStatus> Process::wait_with(int options) {
  siginfo_t info{};
  int result = 0;
  do {
    result = ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | options);
  } while (result != 0 && errno == EINTR);
  // Another part of the program that reaps our children is a fault.
  MUSTER_CHECK(result == 0);
  if (info.si_pid == 0) return std::nullopt;
  const MutexLock lock(spawned().mutex);
  spawned().pids.erase(pid_);
  return status_of(info);
}

std::optional<ExitStatus> Process::try_wait() {
  return wait_with(WNOHANG);
}

ExitStatus Process::wait() {
  return *wait_with(0);
}

bool Process::signal(int number) const {
  return ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) == 0;
}

Result<Process> spawn(const Command& command) {
  if (command.argv.empty() || command.argv.front().empty()) {
    return {Errc::kInvalid, "there is no command to run"};
  }
  MUSTER_CHECK(command.descriptors.size() <= 8);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return describe({Step::kSetup, errno}, command);
  UniqueFd reader(ends[0]), writer(ends[1]);

  const std::vector<std::string> env = command.environment ? *command.environment : environment();
  const Launch launch{.paths = candidates(command.argv.front(), env),
                      .argv = pointers(command.argv),
                      .envp = pointers(env),
                      .descriptors = command.descriptors,
                      .directory = command.directory.empty() ? nullptr : command.directory.c_str(),
                      .null_stdin = command.null_stdin,
                      .death_signal = command.death_signal,
                      .control_group = command.control_group,
                      .parent = ::getpid(),
                      .report_fd = writer.get()};
  keep_exit_statuses();
  // No handler of ours may run in the child before it has put the default ones back.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork_and_enter(launch);
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return describe({Step::kSetup, fork_error}, command);
  writer.reset();

  Process process(pid, open_pidfd(pid));
  MUSTER_CHECK(process.pidfd() >= 0);
  Failure failure{};
  ssize_t got = 0;
  do {
    got = ::read(reader.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return process;
  (void)process.wait();
  return describe(failure, command);
}

void reap_strangers() {
  const MutexLock lock(spawned().mutex);
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    // The kernel shows this one until its owner has reaped it, and that will not take long.
    if (spawned().pids.contains(info.si_pid)) return;
    ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
  }
}

void adopt_orphans() {
  MUSTER_CHECK(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
}

void each_stranger(const std::function<void(pid_t)>& stranger) {
  std::vector<pid_t> found;
  {
    const MutexLock lock(spawned().mutex);
    std::vector<pid_t> all;
    each_child(::getpid(), [&](pid_t pid) { all.push_back(pid); });
    for (const pid_t pid : all) {
      if (!spawned().pids.contains(pid)) found.push_back(pid);
    }
  }
  for (const pid_t pid : found) {
    stranger(pid);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG);
  }
}

Status can_run(const Command& command) {
  if (command.argv.empty() || command.argv.front().empty()) {
    return {Errc::kInvalid, "there is no command to run"};
  }
  const std::string& folder = command.directory;
  const std::string below = folder.empty() ? "" : folder + "/";
  if (!folder.empty() && ::access(folder.c_str(), X_OK) != 0) {
    return describe({Step::kDirectory, errno}, command);
  }
  const std::vector<std::string> env = command.environment ? *command.environment : environment();
  int problem = ENOENT;
  for (const std::string& path : candidates(command.argv.front(), env)) {
    // A relative path counts from the directory that the command runs in.
    const std::string whole = path.starts_with('/') ? path : below + path;
    struct stat file {};
    if (::stat(whole.c_str(), &file) != 0) {
      if (errno == EACCES) problem = EACCES;
    } else if (S_ISREG(file.st_mode) && ::access(whole.c_str(), X_OK) == 0) {
      return Done{};
    } else {
      problem = EACCES;
    }
  }
  return describe({Step::kExec, problem}, command);
}

std::vector<std::string> environment() {
  std::vector<std::string> result;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    result.emplace_back(*each);
  }
  return result;
}

void set_variable(std::vector<std::string>& environment, const std::string& name,
                  const std::string& value) {
  std::erase_if(environment, [&](const std::string& each) { return each.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

void open_missing_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest number that is free: those below were seen to.
    MUSTER_CHECK(::open("/dev/null", O_RDWR) == fd);
  }
}

std::string program_directory() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  MUSTER_CHECK(length > 0);
  const std::string_view whole(path.data(), static_cast<std::size_t>(length));
  return std::string(whole.substr(0, whole.rfind('/')));
}

}  // namespace muster
