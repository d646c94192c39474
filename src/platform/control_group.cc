#include "platform/control_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "platform/process_table.h"
#include "platform/system_clock.h"

namespace muster {
namespace {

constexpr std::string_view kPrefix = "muster.command.";
/// Of cgroups whose guardian holds a lock of its own; earlier versions had none.
constexpr std::string_view kGuardedPrefix = "muster.command.guarded-";
/// What another process may take to find that a cgroup is not left over.
constexpr Duration kGuardTime = 1s;
constexpr int kNamesTried = 8;
/// What a process that only waits to be killed may take to start and to die.
constexpr Duration kTryTime = 5s;

std::string reason() {
  std::array<char, 128> buffer{};
  return ::strerror_r(errno, buffer.data(), buffer.size());
}

/// Of /proc/self/mountinfo: \040 is a space, and so on.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      result += text[i];
      continue;
    }
    result +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return result;
}

/// A mounted cgroup2 file system.
struct Mount {
  std::string root;  ///< Which cgroup is seen at…
  std::string place;
};

std::vector<Mount> mounts() {
  std::vector<Mount> result;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped, root, place, word, type;
    words >> skipped >> skipped >> skipped >> root >> place;
    while (words >> word && word != "-") {
    }
    words >> type;
    if (type == "cgroup2") result.push_back({unescaped(root), unescaped(place)});
  }
  return result;
}

/// This process's cgroup of version 2, as the kernel names it; nothing without one.
std::optional<std::string> own_name() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return std::nullopt;
}

struct Place {
  std::string path;
  UniqueFd directory;
};

Result<Place> open_own() {
  const auto name = own_name();
  if (!name) return {Errc::kUnsupported, "this kernel, or /proc, shows no cgroup v2"};
  std::string problem = "no cgroup v2 is mounted here";
  for (const Mount& mount : mounts()) {
    const std::string above = mount.root == "/" ? "" : mount.root;
    // Outside of what this mount shows, as that of another container.
    if (name->find("/..") != name->npos || !name->starts_with(above) ||
        (name->size() > above.size() && (*name)[above.size()] != '/')) {
      problem = "the cgroup of this process is not below the one mounted at " + mount.place;
      continue;
    }
    std::string path = mount.place + name->substr(above.size());
    if (path.ends_with('/')) path.pop_back();
    UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct statfs kind {};
    if (!directory.valid() || ::fstatfs(directory.get(), &kind) != 0) {
      problem = path + " cannot be opened (" + reason() + ")";
    } else if (kind.f_type != CGROUP2_SUPER_MAGIC) {
      problem = path + " is hidden by another mount";
    } else {
      return Place{std::move(path), std::move(directory)};
    }
  }
  return {Errc::kUnsupported, problem};
}

UniqueFd open_below(int directory, const char* name, int flags) {
  return UniqueFd(::openat(directory, name, flags | O_CLOEXEC));
}

std::string read_line(int directory, const char* name) {
  const UniqueFd fd = open_below(directory, name, O_RDONLY);
  std::array<char, 256> text;
  const ssize_t length = fd.valid() ? ::read(fd.get(), text.data(), text.size()) : 0;
  const std::string_view all(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return std::string(all.substr(0, all.find('\n')));
}

/// The directories below a cgroup.
std::vector<std::string> names_below(int directory) {
  std::vector<std::string> result;
  UniqueFd again = open_below(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!again.valid()) return result;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(again.release()), &::closedir);
  if (!entries) return result;
  while (const dirent* each = ::readdir(entries.get())) {
    if (each->d_type == DT_DIR && each->d_name[0] != '.') result.emplace_back(each->d_name);
  }
  return result;
}

void remove_below(int directory) {
  for (const std::string& name : names_below(directory)) {
    const UniqueFd below = open_below(directory, name.c_str(), O_RDONLY | O_DIRECTORY);
    if (below.valid()) remove_below(below.get());
    ::unlinkat(directory, name.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace

Result<ControlGroup> ControlGroup::adopt(UniqueFd directory, std::string name) {
  UniqueFd kill = open_below(directory.get(), "cgroup.kill", O_WRONLY);
  if (!kill.valid()) {
    return {Errc::kUnsupported, errno == ENOENT ? "this kernel has no cgroup.kill; Linux 5.14 is "
                                                  "needed"
                                                : "cgroup.kill cannot be opened: " + reason()};
  }
  UniqueFd events = open_below(directory.get(), "cgroup.events", O_RDONLY);
  if (!events.valid()) return {Errc::kUnsupported, "cgroup.events cannot be opened: " + reason()};
  return ControlGroup(std::move(name), std::move(directory), std::move(kill), std::move(events));
}

Result<ControlGroup> ControlGroup::make() {
  const auto own = open_own();
  if (!own) return own.error();
  for (int i = 0; i < kNamesTried; ++i) {
    const std::string name = std::string(kGuardedPrefix) + system_random().uuid();
    if (::mkdirat(own->directory.get(), name.c_str(), 0755) != 0) {
      return {Errc::kDenied, "no cgroup can be made below " + own->path + " (" + reason() + ")"};
    }
    UniqueFd directory = open_below(own->directory.get(), name.c_str(), O_RDONLY | O_DIRECTORY);
    // Before the lock it looks like one that was left over, and may be removed as such.
    if (!directory.valid() || ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const std::string type = read_line(directory.get(), "cgroup.type");
    if (type.empty()) continue;
    auto group = adopt(std::move(directory), name);
    if (group && type == "domain") return group;
    ::unlinkat(own->directory.get(), name.c_str(), AT_REMOVEDIR);
    if (!group) return group.error();
    return {Errc::kUnsupported, own->path + " is a threaded cgroup, which cannot hold a command"};
  }
  return {Errc::kUnavailable, "each cgroup made below " + own->path + " was removed at once"};
}

void ControlGroup::guard() const {
  // Held elsewhere only while a process looks for cgroups that were left over.
  const MonoTime end = boot_now() + kGuardTime;
  while (::flock(events_.get(), LOCK_EX | LOCK_NB) != 0 && boot_now() < end) sleep_for(2ms);
}

bool ControlGroup::unguarded() const {
  return populated() && ::flock(events_.get(), LOCK_EX | LOCK_NB) == 0;
}

void ControlGroup::kill() const {
  // Fails only when it was removed, and then it was empty.
  [[maybe_unused]] const ssize_t written = ::pwrite(kill_.get(), "1", 1, 0);
}

bool ControlGroup::populated() const {
  std::array<char, 128> text;
  const ssize_t length = ::pread(events_.get(), text.data(), text.size(), 0);
  // One that was removed was empty.
  if (length <= 0) return false;
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  return all.find("populated 0") == all.npos;
}

void ControlGroup::each_process(const std::function<void(pid_t)>& process) const {
  const UniqueFd list = open_below(directory_.get(), "cgroup.procs", O_RDONLY);
  if (list.valid()) read_pids(list.get(), process);
}

void ControlGroup::remove() const {
  if (populated()) return;
  remove_below(directory_.get());
  const UniqueFd above = open_below(directory_.get(), "..", O_RDONLY | O_DIRECTORY);
  if (above.valid()) ::unlinkat(above.get(), name_.c_str(), AT_REMOVEDIR);
}

bool enter_control_group(int directory) {
  const int list = ::openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  if (list < 0) return false;
  const bool entered = ::write(list, "0", 1) == 1;
  ::close(list);
  return entered;
}

Status end_orphaned_control_groups(Duration limit) {
  const auto own = open_own();
  if (!own) return Done{};  // No cgroup here, and so none left over.
  const MonoTime end = boot_now() + limit;
  std::string stuck;
  for (const std::string& name : names_below(own->directory.get())) {
    if (!name.starts_with(kPrefix)) continue;
    UniqueFd directory = open_below(own->directory.get(), name.c_str(), O_RDONLY | O_DIRECTORY);
    if (!directory.valid()) continue;
    const bool held = ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0;
    if (held && !name.starts_with(kGuardedPrefix)) continue;
    const auto group = ControlGroup::adopt(std::move(directory), name);
    if (!group || (held && !group->unguarded())) continue;
    do {
      group->kill();
      if (group->populated()) sleep_for(2ms);
    } while (group->populated() && boot_now() < end);
    // Its muster may be about to start a command in it.
    if (!held) group->remove();
    group->each_process([&](pid_t pid) { stuck += " " + std::to_string(pid); });
  }
  if (stuck.empty()) return Done{};
  return {Errc::kAmbiguous,
          "processes of a command whose muster was killed cannot be ended; their ids:" + stuck};
}

Result<std::string> try_control_group() {
  const auto own = open_own();
  if (!own) return own.error();
  const auto group = ControlGroup::make();
  if (!group) return group.error();
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!enter_control_group(group->directory())) ::_exit(errno & 0x7f);
    for (;;) ::pause();
  }
  if (pid < 0) {
    group->remove();
    return {Errc::kUnavailable, "no process can be started to test it (" + reason() + ")"};
  }
  int status = 0;
  pid_t ended = 0;
  const MonoTime limit = boot_now() + kTryTime;
  // It is in there a moment after its start, or has ended because it could not enter.
  while (ended == 0 && boot_now() < limit) {
    if (group->populated()) group->kill();
    ended = ::waitpid(pid, &status, WNOHANG);
  }
  if (ended == 0) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    group->remove();
    return {Errc::kUnsupported, "cgroup.kill has no effect below " + own->path};
  }
  group->remove();
  if (WIFSIGNALED(status)) return own->path;
  errno = WEXITSTATUS(status);
  return {Errc::kDenied,
          "no process can be moved into a cgroup below " + own->path + " (" + reason() + ")"};
}

}  // namespace muster
