#include "platform/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "base/check.h"
#include "platform/unique_fd.h"

namespace muster {
namespace {

// Between the fields "session", "flags", "num_threads" and "starttime" of /proc/PID/stat.
constexpr int kSessionToFlags = 2;
constexpr int kFlagsToThreads = 10;
constexpr int kThreadsToStart = 1;
/// What getdents(2) needs for one entry with a number for a name, and cannot put two of into.
constexpr std::size_t kOneProcess = 32;
/// PF_KTHREAD of the kernel, which no header tells.
constexpr std::uint32_t kKernelThread = 0x00200000;

/// Skips one space, then reads a number.
template <typename Number>
bool next_number(const char*& at, const char* end, Number& value) {
  if (at == end) return false;
  const auto [rest, error] = std::from_chars(at + 1, end, value);
  at = rest;
  return error == std::errc{};
}

/// Skips `count` fields, each with the space before it.
bool skip_fields(const char*& at, const char* end, int count) {
  for (; count > 0 && at != end; --count) at = std::find(at + 1, end, ' ');
  return at != end;
}

std::optional<ProcessEntry> read_entry(int proc, const char* name) {
  std::array<char, 300> path;
  std::snprintf(path.data(), path.size(), "%s/stat", name);
  const UniqueFd fd(::openat(proc, path.data(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  std::array<char, 512> text;
  const ssize_t length = ::read(fd.get(), text.data(), text.size());
  if (length <= 0) return std::nullopt;
  ProcessEntry entry{};
  const char* const end = text.data() + length;
  if (std::from_chars(text.data(), end, entry.pid).ec != std::errc{}) return std::nullopt;
  // The name in parentheses may hold anything, parentheses included; no field after it does.
  const auto* at =
      static_cast<const char*>(::memrchr(text.data(), ')', static_cast<std::size_t>(length)));
  if (at == nullptr || end - at < 4) return std::nullopt;
  entry.state = at[2];
  at += 3;
  if (!next_number(at, end, entry.parent) || !next_number(at, end, entry.group) ||
      !next_number(at, end, entry.session) || !skip_fields(at, end, kSessionToFlags) ||
      !next_number(at, end, entry.flags) || !skip_fields(at, end, kFlagsToThreads) ||
      !next_number(at, end, entry.threads) || !skip_fields(at, end, kThreadsToStart) ||
      !next_number(at, end, entry.started)) {
    return std::nullopt;
  }
  return entry;
}

/// A file of /proc: empty when there is nothing (any more), absent when it is not for this user.
std::optional<std::string> read_all(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && errno == EACCES) return std::nullopt;
  if (!fd.valid()) return std::string();
  std::string text(1 << 16, '\0');
  std::size_t length = 0;
  for (;;) {
    const ssize_t got = ::read(fd.get(), text.data() + length, text.size() - length);
    if (got < 0) return std::string();
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
    if (length == text.size()) text.resize(text.size() * 2);
  }
  text.resize(length);
  return text;
}

/// As read_all(), of the first thread that shows anything: the main one may have ended long since.
std::optional<std::string> read_of_process(pid_t pid, const std::string& name) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  auto text = read_all(folder + name);
  if (!text || !text->empty()) return text;
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir((folder + "task").c_str()),
                                                    &::closedir);
  if (!threads) return text;
  while (const dirent* each = ::readdir(threads.get())) {
    if (each->d_name[0] == '.') continue;
    text = read_all(folder + "task/" + each->d_name + "/" + name);
    if (!text || !text->empty()) return text;
  }
  return text;
}

bool contains(const std::vector<pid_t>& all, pid_t wanted) {
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

/// `strings` ends each with a zero.
bool holds(std::string_view strings, std::string_view wanted) {
  for (std::size_t begin = 0; begin < strings.size();) {
    const std::size_t end = std::min(strings.find('\0', begin), strings.size());
    if (strings.substr(begin, end - begin) == wanted) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

bool ProcessEntry::is_of_kernel() const {
  return (flags & kKernelThread) != 0;
}

void ProcessTable::look(const std::function<void(const ProcessEntry&)>& seen) {
  entries_.clear();
  const UniqueFd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  MUSTER_CHECK(proc.valid());
  // Not readdir(3), which allocates, and lists so many ahead that a process which starts another
  // and ends would be gone when its turn comes, with its successor not on the list.
  alignas(dirent64) std::array<char, sizeof(dirent64)> buffer;
  for (;;) {
    ssize_t length = ::getdents64(proc.get(), buffer.data(), kOneProcess);
    // A name too long for that is no process.
    if (length < 0 && errno == EINVAL) {
      length = ::getdents64(proc.get(), buffer.data(), buffer.size());
    }
    MUSTER_CHECK(length >= 0);
    if (length == 0) return;
    for (ssize_t offset = 0; offset < length;) {
      const auto* each = reinterpret_cast<const dirent64*>(buffer.data() + offset);
      offset += each->d_reclen;
      if (each->d_name[0] < '0' || each->d_name[0] > '9') continue;
      const auto entry = read_entry(proc.get(), each->d_name);
      if (!entry) continue;
      entries_.push_back(*entry);
      if (seen) seen(*entry);
    }
  }
}

std::span<const ProcessEntry> ProcessTable::descendants(pid_t root) {
  add_hidden_children(root);
  // The front of the list is what was found; each round adds those whose parent is in it. By index,
  // since the list grows by what is hidden.
  std::size_t found = 0;
  const auto belongs = [&](const ProcessEntry& entry) {
    return entry.parent == root ||
           std::any_of(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(found),
                       [&](const ProcessEntry& other) { return other.pid == entry.parent; });
  };
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = found; i < entries_.size(); ++i) {
      if (!belongs(entries_[i])) continue;
      std::swap(entries_[i], entries_[found]);
      add_hidden_children(entries_[found].pid);
      ++found;
      more = true;
    }
  }
  return {entries_.data(), found};
}

void ProcessTable::add_hidden_children(pid_t parent) {
  each_child(parent, [&](pid_t pid) {
    const auto seen = std::any_of(entries_.begin(), entries_.end(),
                                  [&](const ProcessEntry& each) { return each.pid == pid; });
    if (seen) return;
    // Born since the look, or hidden; these two calls are answered for either.
    const pid_t group = ::getpgid(pid);
    const pid_t session = ::getsid(pid);
    if (group < 0 || session < 0) return;
    entries_.push_back({.pid = pid,
                        .parent = parent,
                        .group = group,
                        .session = session,
                        .state = ProcessEntry::kHidden,
                        .threads = 1,
                        .flags = 0,
                        .started = std::numeric_limits<std::uint64_t>::max()});
  });
}

void ProcessTable::kill_descendants(pid_t root) {
  constexpr int kLooksMax = 16;
  const pid_t session = ::getsid(0);
  told_.clear();
  bool fresh = true;
  // One that forked while this looked has a child that was not seen: again, until nobody is new.
  for (int looks = 0; fresh && looks < kLooksMax; ++looks) {
    fresh = false;
    // Whose parent has ended is the child of a subreaper and dies as soon as it is seen: a chain
    // whose every process has a session of its own shares no group.
    each_child(root, [](pid_t pid) { ::kill(pid, SIGKILL); });
    look([root](const ProcessEntry& each) {
      if (each.parent == root && !each.ended()) ::kill(each.pid, SIGKILL);
    });
    groups_.clear();
    const auto found = descendants(root);
    const auto others = all().subspan(found.size());
    for (const ProcessEntry& each : found) {
      // Also of one that has ended: a chain of processes, each the parent of the next, is faster
      // than this look.
      if (!contains(groups_, each.group)) {
        groups_.push_back(each.group);
        const bool shared = std::any_of(others.begin(), others.end(), [&](const auto& other) {
          return other.group == each.group;
        });
        // A session that is not ours was made below `root`, and all of its groups were.
        if (!shared || each.session != session) kill_group(each.group);
      }
      if (each.ended()) continue;
      ::kill(each.pid, SIGKILL);
      if (contains(told_, each.pid)) continue;
      told_.push_back(each.pid);
      fresh = true;
    }
  }
}

void kill_group(pid_t group) {
  if (group > 1) ::kill(-group, SIGKILL);
}

void read_pids(int fd, const std::function<void(pid_t)>& pid) {
  std::array<char, 4096> text;
  pid_t value = 0;
  bool inside = false;
  for (;;) {
    const ssize_t length = ::read(fd, text.data(), text.size());
    for (ssize_t i = 0; i < length; ++i) {
      const char each = text[static_cast<std::size_t>(i)];
      const bool digit = each >= '0' && each <= '9';
      // A number may go on in the next block.
      if (digit) value = (inside ? value * 10 : 0) + (each - '0');
      if (!digit && inside) pid(value);
      inside = digit;
    }
    if (length > 0) continue;
    if (inside) pid(value);
    return;
  }
}

void each_child(pid_t parent, const std::function<void(pid_t)>& child) {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/%d/task", parent);
  const UniqueFd threads(::open(path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!threads.valid()) return;
  // Not readdir(3), which allocates.
  alignas(dirent64) std::array<char, 1024> buffer;
  for (;;) {
    const ssize_t length = ::getdents64(threads.get(), buffer.data(), buffer.size());
    if (length <= 0) return;
    for (ssize_t offset = 0; offset < length;) {
      const auto* each = reinterpret_cast<const dirent64*>(buffer.data() + offset);
      offset += each->d_reclen;
      if (each->d_name[0] < '0' || each->d_name[0] > '9') continue;
      std::snprintf(path.data(), path.size(), "%.20s/children", each->d_name);
      const UniqueFd list(::openat(threads.get(), path.data(), O_RDONLY | O_CLOEXEC));
      if (list.valid()) read_pids(list.get(), child);
    }
  }
}

std::optional<ProcessEntry> look_at(pid_t pid) {
  const UniqueFd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  MUSTER_CHECK(proc.valid());
  return read_entry(proc.get(), std::to_string(pid).c_str());
}

Trace trace_of(const ProcessEntry& entry, std::string_view assignment) {
  if (entry.is_of_kernel()) return Trace::kAbsent;
  const auto environment = read_of_process(entry.pid, "environ");
  if (environment && holds(*environment, assignment)) return Trace::kPresent;
  if (!environment || !environment->empty()) return Trace::kAbsent;
  // Without an environment by choice, it still has its arguments. In the middle of exec it has
  // neither, and of one that has ended there is nothing to read.
  const auto arguments = read_of_process(entry.pid, "cmdline");
  return arguments && !arguments->empty() ? Trace::kAbsent : Trace::kUnclear;
}

bool started_with(pid_t pid, std::string_view assignment) {
  const auto environment = read_of_process(pid, "environ");
  return environment && holds(*environment, assignment);
}

}  // namespace muster
