#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "candidate/guarded_command.h"
#include "candidate/supervised_task.h"
#include "core/supervision/supervision.h"
#include "elector/lease_guard.h"
#include "platform/event_loop.h"
#include "platform/process.h"

namespace muster {

/// One child of a tree: a program, or a task in this process, on a thread or on our loop.
struct ChildSpec {
  std::string name;
  std::variant<Command, SupervisedTask, LoopTask> work;
  ChildRules rules{};
};

struct SupervisorOptions {
  SupervisionOptions supervision;
  std::string name;             ///< What is led; MUSTER_NAME of commands.
  std::string node;             ///< Who leads here; MUSTER_NODE of commands.
  std::string guardian{};       ///< Path of muster-guardian; found by itself when empty.
  bool control_groups = true;   ///< As GuardianOptions::control_group.
  bool adopts_orphans = false;  ///< As GuardianOptions::adopts_orphans.
};

/// Proof that nothing of a term runs here any more: the lease may be released (G2).
struct StopReceipt {
  Epoch epoch;
};

/// How a term's tree ended.
struct TreeEnd {
  EndCause cause = EndCause::kRequested;
  /// That caused it (of a tree that has finished, the first that failed), or the last that ended.
  std::string child{};
  std::optional<ExitStatus> status{};  ///< Of that child, if it is a command that ran.
  std::string message{};               ///< One sentence for a person.
  /// An error when it cannot be proven that all is gone: let the lease run out.
  Result<StopReceipt> receipt{Errc::kAmbiguous, "the tree has not ended"};
};

/// Runs the children of one term after the other, as core/supervision decides.
///
/// Commands run under guardians and write to our standard output and error directly; their
/// environment tells MUSTER_EPOCH, MUSTER_NAME, MUSTER_NODE, and MUSTER_LEASE_DEADLINE (of the
/// moment they start, milliseconds of CLOCK_BOOTTIME). Tasks run on threads; one that still runs
/// half a kill margin before the deadline ends this process.
///
/// Callbacks are posted to the loop; `ended` comes exactly once per start(), whatever happens, and
/// only when no child is left. Destroying a supervisor stops its children by force and waits.
/// Loop thread only, and that thread must outlive the supervisor: commands would die with it.
class Supervisor {
 public:
  struct Callbacks {
    std::function<void()> starting{};  ///< Before the first child of a term.
    std::function<void()> ready{};     ///< Every child is. At most once per term.
    /// A command runs, `pid` being also its process group; and it has ended, for whatever reason.
    std::function<void(const std::string& child, pid_t pid)> child_started{};
    /// The status is that of a command.
    std::function<void(const std::string& child, const std::optional<ExitStatus>& status,
                       const std::string& how)>
        child_ended{};
    /// A command ended by itself and left this process, and maybe others, which are being ended.
    std::function<void(const std::string& child, pid_t left)> child_left{};
    /// The tree stops, and not because stop() asked: resign. `receipt` is not yet there.
    std::function<void(const TreeEnd&)> ending{};
    std::function<void(const TreeEnd&)> ended{};
    /// This child was killed and is still there: no new term on this node until `ended` (G3). An
    /// operator must look.
    std::function<void(const std::string& child)> unkillable{};
  };

  Supervisor(EventLoop& loop, SupervisorOptions options, std::vector<ChildSpec> children);
  /// On any loop, a simulated one too: without commands, which need one that watches descriptors.
  Supervisor(Loop& loop, SupervisorOptions options, std::vector<ChildSpec> children);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Begins a term. The one before must have ended.
  void start(std::shared_ptr<const LeaseGuard> guard, Callbacks callbacks);
  /// After each renewal. Also when the guard was closed: commands are killed then without being
  /// asked, for somebody else may lead already.
  void deadline_moved();
  /// All children are to be gone by `by`, and by the deadline whatever `by` says. The lease is to
  /// be renewed meanwhile (C09).
  void stop(MonoTime by);
  /// Passes a signal on to every command.
  void forward_signal(int number);

  [[nodiscard]] bool running() const { return tree_ && !tree_->ended(); }

 private:
  struct Running {
    std::unique_ptr<GuardedCommand> command;
    std::unique_ptr<TaskRun> task;
    const LoopTask* loop_task = nullptr;
    std::string stuck_pid;
  };

  void perform(const SupervisionActions& actions);
  void perform_one(const SupervisionAction& action);
  void start_child(std::size_t i);
  void start_command(std::size_t i, const Command& command);
  void start_task(std::size_t i, const SupervisedTask& task);
  void start_loop_task(std::size_t i, const LoopTask& task);
  void signal_child(std::size_t i, bool force);
  void on_ending(const SupervisionAction& action);
  void on_ended();
  void on_stuck(std::size_t i, pid_t pid);
  void on_unkillable(std::size_t i);
  void give_up_on_guardian(std::size_t i);
  void report_unkillable(std::size_t i);
  void tell_started(std::size_t i, pid_t pid);
  void tell_left(std::size_t i, pid_t pid);
  void note(std::size_t i, std::optional<ExitStatus> status, std::string message);
  /// As the one that `end_` tells of.
  void name_child(std::size_t i);
  void child_ended(std::size_t i, std::optional<ExitStatus> status, bool success,
                   std::string message);
  void rearm();
  void rearm_watchdog();
  [[nodiscard]] std::vector<std::string> child_environment(const Command& command) const;
  [[nodiscard]] std::vector<std::pair<std::string_view, std::string>> fields(std::size_t i) const;

  Supervisor(Loop& loop, EventLoop* for_commands, SupervisorOptions options,
             std::vector<ChildSpec> children);

  Loop& loop_;
  EventLoop* const for_commands_;
  SupervisorOptions options_;
  const std::vector<ChildSpec> specs_;
  std::optional<TaskWatchdog> watchdog_;  ///< Only where there are tasks.
  Timer timer_;
  Lifetime lifetime_;
  std::optional<Supervision> tree_;
  std::shared_ptr<const LeaseGuard> guard_;
  MonoTime lease_end_{};  ///< The last deadline that the guard had.
  Callbacks callbacks_;
  std::map<std::size_t, Running> running_;
  /// How each child ended that has not been started again since.
  std::map<std::size_t, std::pair<std::optional<ExitStatus>, std::string>> ends_;
  TreeEnd end_;          ///< As far as it is known.
  bool ending_ = false;  ///< `end_` is settled but for its receipt.
  std::string lost_;     ///< The child whose end cannot be proven.
};

}  // namespace muster
