#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace muster {

struct ProcessEntry {
  pid_t pid;
  pid_t parent;
  pid_t group;
  pid_t session;
  char state;             ///< As in /proc/PID/stat, of the main thread; kHidden where it has none.
  std::uint32_t threads;  ///< With the main one, also when that has ended and others go on.
  std::uint32_t flags;    ///< Of the kernel.
  std::uint64_t started;  ///< In the kernel's ticks: who is younger has no lower number.

  /// The state of a process that /proc does not show to this user (hidepid), though it is listed as
  /// a child and takes signals. Its parent, group and session are known, and nothing else.
  static constexpr char kHidden = '?';

  /// It waits to be reaped, and no thread of it runs. False of a hidden one, which may have.
  [[nodiscard]] bool ended() const { return (state == 'Z' || state == 'X') && threads <= 1; }
  [[nodiscard]] bool is_of_kernel() const;
};

/// The processes of this machine (of this pid namespace) at one look. The look takes a moment:
/// a process that is born during it may be missing, so a caller that must find all searches again.
/// Allocates only when there are more processes than ever before. One thread.
class ProcessTable {
 public:
  explicit ProcessTable(std::size_t expected = 4096) {
    entries_.reserve(expected);
    told_.reserve(expected);
    groups_.reserve(expected);
  }

  /// `seen` is told of each process at once, before the next one is looked at.
  void look(const std::function<void(const ProcessEntry&)>& seen = {});
  [[nodiscard]] std::span<const ProcessEntry> all() const { return entries_; }
  /// Children of `root`, their children and so on; `root` itself is none. A process whose parent
  /// died belongs to the subreaper that adopted it. Hidden processes are found where their parent
  /// is not hidden; the children of a hidden one show up below the subreaper when it has ended.
  [[nodiscard]] std::span<const ProcessEntry> descendants(pid_t root);
  /// Looks, and sends KILL to every descendant of `root`, and at once, which no fork can outrun, to
  /// the whole of each process group that has only descendants in it or is in a session that was
  /// made below; looks again until nobody is new. `root` must be in the session of this process.
  void kill_descendants(pid_t root);

 private:
  /// Adds the hidden children of a process to the look.
  void add_hidden_children(pid_t parent);

  std::vector<ProcessEntry> entries_;
  std::vector<pid_t> told_;    ///< By the kill in progress.
  std::vector<pid_t> groups_;  ///< Judged during its current look.
};

/// Sends KILL to a process group. Of the numbers that kill(2) takes for something else, to nobody:
/// a process whose group is outside of this pid namespace shows group 0.
void kill_group(pid_t group);

/// Calls `child` for each child of a process, of every thread of it, hidden ones included. Children
/// that come or go meanwhile may be missed. Nobody where the kernel keeps no such list, or the
/// process itself is hidden.
void each_child(pid_t parent, const std::function<void(pid_t)>& child);

/// Calls `pid` for each number in an open file of /proc or of a cgroup.
void read_pids(int fd, const std::function<void(pid_t)>& pid);

/// One process; nothing when there is none with that id, or it is hidden.
[[nodiscard]] std::optional<ProcessEntry> look_at(pid_t pid);

/// Whether the environment that a process was started with holds a NAME=value. Asked of any thread,
/// since one that has ended shows none.
enum class Trace {
  kAbsent,  ///< Also when the process is another user's.
  kPresent,
  kUnclear,  ///< It ended since it was seen, or becomes another program just now.
};
[[nodiscard]] Trace trace_of(const ProcessEntry& entry, std::string_view assignment);

/// As trace_of(), for a process that stays what it is.
[[nodiscard]] bool started_with(pid_t pid, std::string_view assignment);

}  // namespace muster
