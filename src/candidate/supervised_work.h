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
/// Keeps what LeaderWork promises: the receipt is the supervisor's, so that a release follows only
/// when the last process was reaped; a lease that is lost kills at once; work that cannot be ended
/// gives no receipt (G2, G3). Loop thread only, and that thread must outlive the object.
class SupervisedWork final : public LeaderWork {
 public:
  /// `observer` is told what the supervisor tells, before the candidate is. It may stop the
  /// candidate, but not destroy it.
  SupervisedWork(EventLoop& loop, SupervisorOptions options, std::vector<ChildSpec> children,
                 Supervisor::Callbacks observer = {});

  void start(Epoch epoch, std::shared_ptr<const LeaseGuard> guard, std::function<void()> on_ready,
             std::function<void(std::string why)> on_failed) override;
  /// Every child has its own grace, one after the other, and those that do not heed it time to die.
  [[nodiscard]] Duration stop_time() const override { return stop_time_; }
  void stop(MonoTime by, std::function<void(bool receipt)> done) override;
  void deadline_moved(MonoTime deadline) override;

  /// From now on, and until let_start(), the work of a term that begins waits. A stop that comes
  /// first is given its receipt: nothing runs.
  void hold_start() { held_ = true; }
  void let_start();

  /// Passes a signal on to every command; nothing when none runs.
  void forward_signal(int number) { supervisor_.forward_signal(number); }
  /// Whoever waits for a stop has waited long enough: what is left is killed.
  void kill();
  [[nodiscard]] bool running() const { return supervisor_.running(); }

 private:
  void ended(const TreeEnd& end);
  void report();

  bool held_ = false;
  std::function<void()> waiting_;  ///< The start of a term's work.
  EventLoop& loop_;
  const Duration kill_margin_;
  const Duration stop_time_;
  const Supervisor::Callbacks observer_;
  std::optional<bool> receipt_;  ///< Of the term that has ended; none while one runs.
  std::function<void(bool)> done_;
  Supervisor supervisor_;
};

}  // namespace muster
