#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "platform/process.h"

/// The guardian is a small process, the parent of one command, which knows until when that command
/// may run (rules G1–G4 of docs/guarantees.md). This header is shared with the process that starts
/// it, which uses candidate/guarded_command.h.
namespace muster::guardian {

/// The guardian's end of a SOCK_SEQPACKET pair: orders come in, reports go out. If it closes, the
/// process that gave the orders is dead.
inline constexpr int kSocketFd = 3;
/// The guardian reads the command's environment from here. Its own is that of the process that
/// starts it, so that variables for the command (LD_PRELOAD, LD_LIBRARY_PATH) do not affect it.
inline constexpr int kEnvironmentFd = 4;
/// The directory of the command's cgroup, if it has one.
inline constexpr int kControlGroupFd = 5;

struct Order {
  enum class Kind : std::uint32_t {
    kDeadline,   ///< The lease now ends at `deadline_ns` on CLOCK_BOOTTIME.
    kSignal,     ///< Pass `signal` on to the command's process group.
    kTerminate,  ///< Ask all descendants to end.
    kKill,       ///< Kill all descendants.
  };
  Kind kind;
  std::int32_t signal = 0;
  std::uint64_t epoch = 0;  ///< An order for another term is ignored.
  std::int64_t deadline_ns = 0;
};

struct Report {
  enum class Kind : std::uint32_t {
    kStarted,     ///< `pid` runs; in its cgroup if `code` is 1.
    kFailed,      ///< It could not be started: `code` is an Errc, `text` says why. The last report.
    kUnkillable,  ///< `pid` was killed and still exists. The guardian keeps trying.
    kGone,        ///< The command ended, and no descendant is left. The last report.
    kLeftovers,   ///< The command ended by itself; its other processes are being ended.
  };
  Kind kind;
  std::int32_t pid = 0;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  std::array<char, 240> text{};
};

/// The guardian's instructions: on its command line, except for the environment.
struct Charge {
  Epoch epoch;
  MonoTime deadline;
  Duration kill_margin{};  ///< KILL is sent this long before the deadline…
  Duration warning{};      ///< …and TERM this much earlier.
  Duration grace{};        ///< Time between TERM and KILL without a parent, or for leftovers.
  pid_t parent = 0;
  std::string directory;
  std::string control_group;  ///< Its name, for the end; empty if there is none.
  std::vector<std::string> argv;
  std::vector<std::string> environment;
};

[[nodiscard]] std::vector<std::string> to_arguments(const Charge& charge);
/// Leaves the environment empty.
[[nodiscard]] Result<Charge> from_arguments(const std::vector<std::string>& arguments);
/// Makes a file in memory for kEnvironmentFd; the guardian reads its content from there.
[[nodiscard]] Result<UniqueFd> to_file(const std::vector<std::string>& environment);
[[nodiscard]] Result<std::vector<std::string>> from_file(int fd);

/// Runs the command until it and all its descendants are gone. Three things can end them: the
/// parent's orders, the parent's death, the deadline; each works without the others. Returns the
/// exit code of this process. Requires: the process runs nothing else.
[[nodiscard]] int run(Charge charge);

}  // namespace muster::guardian
