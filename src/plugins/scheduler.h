#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "coordinator/plugin.h"
#include "elector/sync_store.h"
#include "platform/system_clock.h"
#include "plugins/cron.h"
#include "plugins/run_record.h"

namespace muster {

/// What happens to runs that were due while there was no leader, or that the clock jumped over.
enum class MissedRuns {
  kSkip,     ///< Dropped.
  kRunOnce,  ///< One run, for the latest of them.
  kRunAll,   ///< Each of them in order, the latest run_all_max.
};

/// What happens to a run that a leader claimed without ever reporting its end.
enum class InterruptedRuns {
  kSkip,   ///< It may have run, so it is not run again.
  kRerun,  ///< It is run again, at most twice: at least once instead of at most once.
};

/// One run, as its function sees it. It must send the epoch with every external write; a long run
/// must check the guard again before each effect.
struct ScheduledRun {
  std::string job;
  WallTime due;
  Epoch epoch;
  std::uint64_t attempt;  ///< Above 1: an earlier attempt was interrupted.
  const LeaseGuard& guard;
};

struct ScheduledJob {
  std::string name;  ///< Letters, digits, '.', '_', '-'.
  std::string cron;
  std::string zone = "UTC";
  std::function<void(const ScheduledRun&)> run;
  MissedRuns missed = MissedRuns::kRunOnce;
  std::size_t run_all_max = 100;
  InterruptedRuns interrupted = InterruptedRuns::kSkip;
  /// A run that starts later than this counts as missed. Must exceed a change of leaders.
  Duration tolerance = 1min;
};

struct SchedulerMetrics {
  std::uint64_t started = 0;
  std::uint64_t failed = 0;       ///< Threw.
  std::uint64_t interrupted = 0;  ///< Found claimed and without an end.
  std::uint64_t dropped = 0;      ///< Series of missed runs that the policy omitted.
  std::uint64_t returned = 0;     ///< Claimed, but the term ended, or was to end, before the start.
  std::uint64_t refused = 0;      ///< Times that a higher epoch was here.
};

/// Runs jobs by the calendar, in the process that leads, each due time at most once for all leaders
/// and whatever the clocks do: a due time is claimed in the store by compare-and-swap before it is
/// run, and last_due only ever rises. Exactly once, unless the leader dies between claim and end
/// (InterruptedRuns) or the time was missed (MissedRuns). A job's first due time is the first one
/// after it was first seen, or after its cron or zone was changed.
///
/// Runs use the thread of the plugins: a long run delays the other jobs and plugins, but never the
/// heartbeat. No run is started during a hand-over or when a higher epoch is known. A run under way
/// then is not stopped and delays the hand-over, so it should check `guard.stopping()`.
///
/// Threads: call add() before subscribing; metrics() from any.
class Scheduler final : public CoordinatorPlugin {
 public:
  Scheduler(SyncStore& store, std::string name_space, Random random = system_random());

  /// kInvalid or kNotFound if the job is invalid.
  [[nodiscard]] Status add(ScheduledJob job);
  [[nodiscard]] SchedulerMetrics metrics() const MUSTER_EXCLUDES(metrics_mutex_);

  [[nodiscard]] std::string name() const override { return "scheduler"; }
  [[nodiscard]] Duration work_interval() const override { return 1s; }
  void on_become_coordinator(const LeaseGuard& guard) override;
  void coordinator_work(const LeaseGuard& guard) override;

 private:
  struct Known {
    RunRecord record;
    Revision revision;
  };
  struct Job {
    ScheduledJob spec;
    CronExpression cron;
    TimeZone zone;
    Key key;
    std::optional<Known> known;  ///< The record; empty when it has to be read.
    /// Of the claims that may have landed, or may land yet, and were not started.
    Nonce unstarted;
    /// The claim that was started last, and how it ended, in case the store missed it.
    Nonce started;
    RunState ended = RunState::kFailed;
  };

  void work_on(Job& job, const LeaseGuard& guard);
  [[nodiscard]] bool load(Job& job, const LeaseGuard& guard);
  [[nodiscard]] bool anchor(Job& job, const LeaseGuard& guard, WallTime last_due,
                            Precondition when);
  [[nodiscard]] bool settle_interrupted(Job& job, const LeaseGuard& guard);
  [[nodiscard]] std::vector<WallTime> due_runs(const Job& job, WallTime now) const;
  /// False when the job can do no more in this call.
  [[nodiscard]] bool run(Job& job, WallTime due, std::uint64_t attempt, const LeaseGuard& guard);
  [[nodiscard]] RunState execute(const Job& job, const ScheduledRun& run);
  [[nodiscard]] bool write(Job& job, const RunRecord& record, Precondition when);
  void count(std::uint64_t SchedulerMetrics::*metric) MUSTER_EXCLUDES(metrics_mutex_);

  SyncStore& store_;
  const std::string name_space_;
  Random random_;
  std::vector<Job> jobs_;
  mutable Mutex metrics_mutex_;
  SchedulerMetrics metrics_ MUSTER_GUARDED_BY(metrics_mutex_);
};

}  // namespace muster
