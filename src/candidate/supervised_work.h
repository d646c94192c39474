#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "candidate/leader_work.h"
#include "candidate/supervisor.h"

namespace muster {

/// Leader-only work that a Supervisor runs: commands and tasks, one tree per term.
///
/// Implements the guarantees of LeaderWork. The receipt is the supervisor's, so the release follows
/// only when the last process was reaped; a lost lease kills at once; work that cannot be ended
/// gives no receipt (G2, G3). Threads: the loop thread, which must outlive the object.
class SupervisedWork final : public LeaderWork {
 public:
  /// `observer` gets the supervisor's events before the candidate does. It may stop the candidate
  /// but not destroy it.
  SupervisedWork(EventLoop& loop, SupervisorOptions options, std::vector<ChildSpec> children,
                 Supervisor::Callbacks observer = {});

  void start(Epoch epoch, std::shared_ptr<const LeaseGuard> guard, std::function<void()> on_ready,
             std::function<void(std::string why)> on_failed) override;
  /// The sum of all children's graces, plus the time to die for those that ignore theirs.
  [[nodiscard]] Duration stop_time() const override { return stop_time_; }
  void stop(MonoTime by, std::function<void(bool receipt)> done) override;
  void deadline_moved(MonoTime deadline) override;

  /// Until let_start(), the work of a new term waits. A stop that comes first gets its receipt at
  /// once, because nothing runs.
  void hold_start() { held_ = true; }
  void let_start();

  /// Passes a signal on to every running command.
  void forward_signal(int number) { supervisor_.forward_signal(number); }
  /// Ends a stop that takes too long: kills all remaining work.
  void kill();
  [[nodiscard]] bool running() const { return supervisor_.running(); }

 private:
  void ended(const TreeEnd& end);
  void report();

  bool held_ = false;
  std::function<void()> waiting_;  ///< The pending start of a term's work.
  EventLoop& loop_;
  const Duration kill_margin_;
  const Duration stop_time_;
  const Supervisor::Callbacks observer_;
  std::optional<bool> receipt_;  ///< Of the ended term; none while a term runs.
  std::function<void(bool)> done_;
  Supervisor supervisor_;
};

}  // namespace muster
