#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "base/strong.h"
#include "candidate/guardian.h"
#include "platform/control_group.h"
#include "platform/event_loop.h"
#include "platform/process.h"
#include "platform/process_table.h"

namespace muster {

struct GuardianOptions {
  std::string program;     ///< Path of muster-guardian.
  Duration kill_margin{};  ///< The guardian sends KILL this long before the deadline…
  Duration warning{};      ///< …and TERM this much earlier, if no other process has.
  Duration grace{};        ///< Time between TERM and KILL if this process has died.
  /// Runs the command in its own cgroup, if one can be made.
  bool control_group = true;
  /// This process has called adopt_orphans() and has no children except by spawn(). So any other
  /// process that becomes its child when a guardian dies was started by that guardian's command.
  bool adopts_orphans = false;
};

/// The path of muster-guardian: beside this program, or in ../libexec/muster.
[[nodiscard]] std::string find_guardian();

/// One run of a command under its guardian, as seen from the process that started it.
///
/// Guarantees: while this process or the guardian is scheduled, the command and every process it
/// has started are killed before the deadline. gone()
/// means that none of these processes is left,
/// daemons and double forks included. kill() works even if the guardian is frozen: this process
/// kills the guardian's descendants itself. If the guardian dies, this object kills the processes
/// in the command's cgroup, those that this process adopts, and those found by process group and
/// by environment, then calls lost(): the end of the work is unproven (G2, G4). Lost::kAllKilled:
/// every process that was not moved elsewhere was found. Unkillable ones are reported and hunted.
///
/// Each start ends in exactly one of failed, gone, lost, which may destroy the object. Destroying
/// it earlier kills the command and waits. Threads: the loop thread, which must outlive it.
/// thread must outlive the object.
class GuardedCommand {
 public:
  /// The result for a command whose guardian died.
  enum class Lost {
    kAllKilled,
    kFoundKilled,  ///< Without a cgroup or adoption, a process may have been missed.
  };
  struct Callbacks {
    std::function<void(pid_t)> started{};
    std::function<void(pid_t)> unkillable{};  ///< The process was killed and still exists.
    /// The command ended and left this process, and perhaps others, which are being ended.
    std::function<void(pid_t)> leftovers{};
    std::function<void(Error)> failed{};  ///< It never ran.
    std::function<void(ExitStatus)> gone{};
    std::function<void(Lost)> lost{};
  };

  GuardedCommand(EventLoop& loop, GuardianOptions options, Callbacks callbacks);
  ~GuardedCommand();
  GuardedCommand(const GuardedCommand&) = delete;
  GuardedCommand& operator=(const GuardedCommand&) = delete;

  /// Call once. An error means that there is no guardian and hence no command. The command can be
  /// given only descriptors 0, 1 and 2, and inherits those that are not given.
  [[nodiscard]] Status start(const Command& command, Epoch epoch, MonoTime deadline);
  void deadline_moved(MonoTime deadline);
  void signal(int number);
  void terminate();
  void kill();
  /// Ends a guardian that does not answer, which leads to lost().
  void give_up_on_guardian();

  [[nodiscard]] pid_t guardian_pid() const { return guardian_ ? guardian_->pid() : 0; }
  [[nodiscard]] bool told_unkillable() const { return told_unkillable_; }
  /// Whether the command runs in its own cgroup; known once it has started.
  [[nodiscard]] bool has_control_group() const { return group_.has_value(); }

 private:
  void order(guardian::Order order);
  void read_reports();
  void take(const guardian::Report& report);
  void on_guardian_ended();
  void kill_beside_guardian();
  void hunt();
  /// The processes of the command that one search found and killed.
  struct Leftovers {
    pid_t living = 0;
    bool unclear = false;  ///< A process ended or changed during the search: no result.
    [[nodiscard]] bool none() const { return living == 0 && !unclear; }
  };
  [[nodiscard]] Leftovers kill_leftovers();
  void kill_adopted(Leftovers& left);
  void drop_group();

  EventLoop& loop_;
  const GuardianOptions options_;
  Callbacks callbacks_;
  Timer hunt_timer_;
  Epoch epoch_;
  std::string mark_;  ///< NAME=value in the environment of all the command's processes.
  UniqueFd socket_;
  std::optional<ControlGroup> group_;
  std::optional<Process> guardian_;
  std::uint64_t guardian_started_ = 0;  ///< No process with the mark is older.
  ProcessTable table_;
  pid_t pid_ = 0;
  std::optional<ExitStatus> status_;
  std::optional<Error> error_;
  MonoTime hunt_began_{};
  int clean_looks_ = 0;  ///< In a row.
  bool told_unkillable_ = false;
};

}  // namespace muster
