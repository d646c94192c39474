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

/// One child of a tree: a program, or a task in this process, on a thread or on the loop.
struct ChildSpec {
  std::string name;
  std::variant<Command, SupervisedTask, LoopTask> work;
  ChildRules rules{};
};

struct SupervisorOptions {
  SupervisionOptions supervision;
  std::string name;             ///< Election name; MUSTER_NAME of commands.
  std::string node;             ///< Id of this node; MUSTER_NODE of commands.
  std::string guardian{};       ///< Path of muster-guardian; empty: find_guardian().
  bool control_groups = true;   ///< See GuardianOptions::control_group.
  bool adopts_orphans = false;  ///< See GuardianOptions::adopts_orphans.
  bool tasks_may_exit = true;   ///< False: a task that outlives the lease does not end the process.
};

/// Proof that nothing of a term still runs here: the lease may be released (G2).
struct StopReceipt {
  Epoch epoch;
};

/// How a term's tree ended.
struct TreeEnd {
  EndCause cause = EndCause::kRequested;
  /// The child that caused it (or, of a finished tree, the first that failed), or the last to end.
  std::string child{};
  std::optional<ExitStatus> status{};  ///< Of that child, if it is a command that ran.
  std::string message{};               ///< One sentence for a person.
  /// An error if the end of all processes is unproven: let the lease expire.
  Result<StopReceipt> receipt{Errc::kAmbiguous, "the tree has not ended"};
};

/// Runs the children of one term after the other, as core/supervision decides.
///
/// Commands run under guardians and write directly to this process's standard output and error.
/// Their environment has MUSTER_EPOCH, MUSTER_NAME, MUSTER_NODE, and MUSTER_LEASE_DEADLINE (as of
/// their start, in milliseconds of CLOCK_BOOTTIME). Tasks run on threads; a task that still runs
/// half a kill margin before the deadline ends this process, if `tasks_may_exit`.
///
/// Callbacks are posted to the loop. `ended` comes exactly once per start(), and only when no child
/// is left. The destructor stops the children by force and waits. Threads: the loop thread, which
/// must outlive the supervisor, because commands would die with it.
class Supervisor {
 public:
  struct Callbacks {
    std::function<void()> starting{};  ///< Before the first child of a term.
    std::function<void()> ready{};     ///< Every child is ready. At most once per term.
    /// A command has started; `pid` is also its process group. Later: it has ended.
    std::function<void(const std::string& child, pid_t pid)> child_started{};
    /// The status is that of a command.
    std::function<void(const std::string& child, const std::optional<ExitStatus>& status,
                       const std::string& how)>
        child_ended{};
    /// A command ended by itself and left this process, and perhaps others, which are being ended.
    std::function<void(const std::string& child, pid_t left)> child_left{};
    /// The tree stops for a reason other than stop(): resign. `receipt` is not set yet.
    std::function<void(const TreeEnd&)> ending{};
    std::function<void(const TreeEnd&)> ended{};
    /// This child was killed and still exists: no new term on this node until `ended` (G3). An
    /// operator must act.
    std::function<void(const std::string& child)> unkillable{};
  };

  Supervisor(EventLoop& loop, SupervisorOptions options, std::vector<ChildSpec> children);
  /// For any loop, also a simulated one, if there are no commands: they need watched descriptors.
  Supervisor(Loop& loop, SupervisorOptions options, std::vector<ChildSpec> children);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Begins a term. Requires: the previous term has ended.
  void start(std::shared_ptr<const LeaseGuard> guard, Callbacks callbacks);
  /// Call after each renewal, and when the guard was closed. Then commands are killed without being
  /// asked, because another node may lead already.
  void deadline_moved();
  /// Ends all children by `by`, and by the deadline in any case. The caller renews the lease
  /// meanwhile (C09).
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
  /// Names the child in `end_`.
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
  std::optional<TaskWatchdog> watchdog_;  ///< Only if there are tasks.
  Timer timer_;
  Lifetime lifetime_;
  std::optional<Supervision> tree_;
  std::shared_ptr<const LeaseGuard> guard_;
  MonoTime lease_end_{};  ///< The last deadline of the guard.
  Callbacks callbacks_;
  std::map<std::size_t, Running> running_;
  /// How each child ended that has not been restarted since.
  std::map<std::size_t, std::pair<std::optional<ExitStatus>, std::string>> ends_;
  TreeEnd end_;          ///< As far as known.
  bool ending_ = false;  ///< `end_` is final except for its receipt.
  std::string lost_;     ///< The child whose end cannot be proven.
};

}  // namespace muster
