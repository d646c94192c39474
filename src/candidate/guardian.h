#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "platform/process.h"

/// The guardian: a small process of its own that is the parent of one command and knows until when
/// that command may run (rules G1–G4 of docs/guarantees.md). This header is what it shares with
/// the process that starts it, which uses candidate/guarded_command.h.
namespace muster::guardian {

/// The guardian's end of a SOCK_SEQPACKET pair: orders come in, reports go out. Its closing means
/// that the one who gave the orders is dead.
inline constexpr int kSocketFd = 3;
/// Where the guardian reads the command's environment: its own is that of the process that starts
/// it, so that nothing meant for the command (LD_PRELOAD, LD_LIBRARY_PATH) reaches the guardian.
inline constexpr int kEnvironmentFd = 4;
/// The directory of the command's cgroup, where there is one.
inline constexpr int kControlGroupFd = 5;

struct Order {
  enum class Kind : std::uint32_t {
    kDeadline,   ///< The lease now ends at `deadline_ns` on CLOCK_BOOTTIME.
    kSignal,     ///< Pass `signal` on to the command's process group.
    kTerminate,  ///< Ask everything below to end.
    kKill,       ///< End everything below.
  };
  Kind kind;
  std::int32_t signal = 0;
  std::uint64_t epoch = 0;  ///< An order for another term than its own is ignored.
  std::int64_t deadline_ns = 0;
};

struct Report {
  enum class Kind : std::uint32_t {
    kStarted,     ///< `pid` runs; in its cgroup if `code` is 1.
    kFailed,      ///< It could not be started: `code` is an Errc, `text` says why. The last report.
    kUnkillable,  ///< `pid` was killed and is still there. Goes on trying.
    kGone,        ///< The command ended so, and no descendant of it is left. The last report.
    kLeftovers,   ///< The command ended by itself and left others running, which are ended now.
  };
  Kind kind;
  std::int32_t pid = 0;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  std::array<char, 240> text{};
};

/// What the guardian is told once: on its command line, but for the environment.
struct Charge {
  Epoch epoch;
  MonoTime deadline;
  Duration kill_margin{};  ///< KILL is sent this long before the deadline…
  Duration warning{};      ///< …and TERM this long before that.
  Duration grace{};        ///< Between TERM and KILL when the parent is gone, or for leftovers.
  pid_t parent = 0;
  std::string directory;
  std::string control_group;  ///< Its name, for the end; empty: there is none.
  std::vector<std::string> argv;
  std::vector<std::string> environment;
};

[[nodiscard]] std::vector<std::string> to_arguments(const Charge& charge);
/// The environment is left empty.
[[nodiscard]] Result<Charge> from_arguments(const std::vector<std::string>& arguments);
/// A file in memory for kEnvironmentFd, and its content at the other end.
[[nodiscard]] Result<UniqueFd> to_file(const std::vector<std::string>& environment);
[[nodiscard]] Result<std::vector<std::string>> from_file(int fd);

/// Runs the command until it and all its descendants are gone. Of the three that can end them (the
/// parent's orders, the parent's death, the deadline) none needs another. Returns the process's
/// exit code. Expects to be alone in its process.
[[nodiscard]] int run(Charge charge);

}  // namespace muster::guardian
