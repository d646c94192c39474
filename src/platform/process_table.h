#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
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
  char state;             ///< As in /proc/PID/stat; 'Z' has ended and waits to be reaped.
  std::uint32_t flags;    ///< Of the kernel.
  std::uint64_t started;  ///< In the kernel's ticks: who is younger has no lower number.

  [[nodiscard]] bool ended() const { return state == 'Z' || state == 'X'; }
  [[nodiscard]] bool is_of_kernel() const;
};

/// The processes of this machine (of this pid namespace) at one look. The look takes a moment:
/// a process that is born during it may be missing, so whoever must find all looks again.
/// Allocates only when there are more processes than ever before. One thread.
class ProcessTable {
 public:
  explicit ProcessTable(std::size_t expected = 4096) { entries_.reserve(expected); }

  void look();
  [[nodiscard]] std::span<const ProcessEntry> all() const { return entries_; }
  /// Children of `root`, their children and so on; `root` itself is none. A process whose parent
  /// died belongs to the subreaper that adopted it.
  [[nodiscard]] std::span<const ProcessEntry> descendants(pid_t root);
  /// Looks, and sends KILL to every descendant of `root`, and at once to the whole of each process
  /// group in a session that was made below it, which no fork can outrun; looks again until nobody
  /// is new. `root` must be in the session of this process.
  void kill_descendants(pid_t root);

 private:
  std::vector<ProcessEntry> entries_;
};

/// One process; nothing when there is none with that id.
[[nodiscard]] std::optional<ProcessEntry> look_at(pid_t pid);

/// Whether the environment that a process was started with holds a NAME=value.
enum class Trace {
  kAbsent,  ///< Also when the process is another user's.
  kPresent,
  kUnclear,  ///< It ended since it was seen, or becomes another program just now.
};
[[nodiscard]] Trace trace_of(const ProcessEntry& entry, std::string_view assignment);

/// As trace_of(), for a process that stays what it is.
[[nodiscard]] bool started_with(pid_t pid, std::string_view assignment);

}  // namespace muster
