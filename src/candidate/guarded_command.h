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
  Duration warning{};      ///< …and TERM this long before that, if nobody else has.
  Duration grace{};        ///< Between TERM and KILL when this process has died.
  /// A cgroup of its own for the command, where one can be made.
  bool control_group = true;
  /// This process has called adopt_orphans(), and has no children but by spawn(): whatever else
  /// becomes its child when a guardian dies was started by that guardian's command.
  bool adopts_orphans = false;
};

/// Where muster-guardian is: beside this program, or in ../libexec/muster.
[[nodiscard]] std::string find_guardian();

/// One run of a command under its guardian, as seen from the process that wants it.
///
/// Guarantees: while this process or the guardian is scheduled, the command and everything it has
/// started are killed before the deadline. gone() means that no process of it is left, daemons
/// and double forks included. A guardian that is frozen is not needed for kill(): whatever is below
/// it is killed from here. If it dies, this object kills what is in the command's cgroup, what this
/// process adopts, and what it finds by process group and by environment, and says lost(): nobody
/// may be told then that the work has stopped (G2, G4). Lost::kAllKilled: everything the command
/// started and that was not moved away was found. What it finds and cannot kill within the margin
/// is told as unkillable, and hunted until it is gone.
///
/// Each start ends in exactly one of failed, gone, lost; the object may be destroyed inside of
/// those. Destroying it earlier kills the command, and waits for that. Loop thread only, and that
/// thread must outlive the object.
class GuardedCommand {
 public:
  /// What became of a command whose guardian died.
  enum class Lost {
    kAllKilled,
    kFoundKilled,  ///< With neither a cgroup nor adoption, a process may have been missed.
  };
  struct Callbacks {
    std::function<void(pid_t)> started{};
    std::function<void(pid_t)> unkillable{};  ///< It has been killed and is still there.
    /// It ended by itself and left this process, and maybe others, which are being ended.
    std::function<void(pid_t)> leftovers{};
    std::function<void(Error)> failed{};  ///< It never ran.
    std::function<void(ExitStatus)> gone{};
    std::function<void(Lost)> lost{};
  };

  GuardedCommand(EventLoop& loop, GuardianOptions options, Callbacks callbacks);
  ~GuardedCommand();
  GuardedCommand(const GuardedCommand&) = delete;
  GuardedCommand& operator=(const GuardedCommand&) = delete;

  /// Once. An error means that there is no guardian and hence no command. The command can be given
  /// descriptors 0, 1 and 2 only, and inherits those that it is not given.
  [[nodiscard]] Status start(const Command& command, Epoch epoch, MonoTime deadline);
  void deadline_moved(MonoTime deadline);
  void signal(int number);
  void terminate();
  void kill();
  /// For a guardian that does not answer: ends it, which leads to lost().
  void give_up_on_guardian();

  [[nodiscard]] pid_t guardian_pid() const { return guardian_ ? guardian_->pid() : 0; }
  [[nodiscard]] bool told_unkillable() const { return told_unkillable_; }
  /// Whether the command runs in a cgroup of its own; known once it has started.
  [[nodiscard]] bool has_control_group() const { return group_.has_value(); }

 private:
  void order(guardian::Order order);
  void read_reports();
  void take(const guardian::Report& report);
  void on_guardian_ended();
  void kill_beside_guardian();
  void hunt();
  /// What one look found of the command, and killed.
  struct Leftovers {
    pid_t living = 0;
    bool unclear = false;  ///< Something ended or changed during the look: it tells nothing.
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
  std::string mark_;  ///< NAME=value in the environment of everything the command starts.
  UniqueFd socket_;
  std::optional<ControlGroup> group_;
  std::optional<Process> guardian_;
  std::uint64_t guardian_started_ = 0;  ///< Nothing that bears the mark is older.
  ProcessTable table_;
  pid_t pid_ = 0;
  std::optional<ExitStatus> status_;
  std::optional<Error> error_;
  MonoTime hunt_began_{};
  int clean_looks_ = 0;  ///< In a row.
  bool told_unkillable_ = false;
};

}  // namespace muster
