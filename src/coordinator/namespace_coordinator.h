#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/mutex.h"
#include "coordinator/events.h"
#include "coordinator/metrics.h"
#include "coordinator/options.h"
#include "coordinator/plugin_host.h"
#include "core/limits/histogram.h"
#include "elector/control.h"
#include "elector/election_driver.h"
#include "elector/roster.h"
#include "elector/store_failures.h"
#include "elector/worker_registration.h"
#include "store/store.h"

namespace muster {

/// All parts of one worker in one election, connected: the election, the worker's file, the roster,
/// circuit breaker, contention and metrics. It belongs to one loop, so that a simulator can run it,
/// too; GlobalCoordinator is its interface for other threads.
class NamespaceCoordinator {
 public:
  struct Surroundings {
    Loop& loop;
    Loop& callbacks;  ///< Plugins and listeners are called here; may be the same loop.
    ObjectStore& store;
    Random random;
    /// Called once before the first campaign: is the store safe? Empty: no probe.
    std::function<void(Callback<Done>)> probe;
  };

  /// Requires: `options` has been validated.
  NamespaceCoordinator(std::string name_space, CoordinatorOptions options,
                       Surroundings surroundings);
  ~NamespaceCoordinator();

  // Loop thread only.
  void start();
  void stop(std::function<void()> done);
  void step_down(std::optional<WorkerId> preferred, Duration hold_off, std::function<void()> done);
  void set_eligible(bool eligible);
  /// Hands over, and does not campaign before resume().
  void pause();
  void resume();

  // Any thread.
  [[nodiscard]] bool leads() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] Duration lease_left() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<WorkerId> leader() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] Epoch epoch() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<WorkerId> workers() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] CoordinatorMetrics metrics() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] const WorkerId& worker_id() const { return options_.worker_id; }
  [[nodiscard]] const CoordinatorOptions& options() const { return options_; }
  [[nodiscard]] PluginHost& plugins() { return *host_; }

 private:
  /// State for other threads.
  struct Shared {
    std::shared_ptr<const LeaseGuard> guard;
    std::optional<WorkerId> leader;
    MonoTime leader_until = MonoTime::min();
    Epoch epoch;
    std::vector<WorkerId> workers;
    CoordinatorMetrics metrics;
  };

  NamespaceCoordinator(std::string name_space, CoordinatorOptions options,
                       Surroundings& surroundings, ElectionConfig config);

  void begin();
  void probed(const Status& safe);
  void compare_timings();
  void take_part();
  void watch_store();

  MonoTime not_before(MonoTime now);
  void after_beat(MonoTime began, bool failed);
  void note_contention(const std::optional<ContentionEvent>& late);
  void note_breaker(const std::optional<CircuitTransition>& transition);
  void tell_outage(const CircuitTransition& closed);
  void note_workers(std::size_t appeared, std::size_t timed_out);
  void check_plugins();

  void handle(const ElectionEvent& event);
  void on(const BecameLeader& event);
  void on(const LeaseRenewed& event);
  void on(const LostLeadership& event);
  void on(const LeaderChanged& event);
  void on(const ElectionStarted& event);
  void on(const StateTrouble& event);
  void on(const StoreTrouble& event);
  void on(const DuplicateWorker& event);
  void on(const Resigned& event);

  void show_standing();
  void look_for_commands();
  [[nodiscard]] bool is_for_me(const ControlCommand& command) const;
  void obey(const ControlCommand& command);

  void hand_over(ResignOptions options, std::function<void()> done);
  void report_end(Epoch epoch, LossReason reason);
  void report(TroubleEvent::Kind kind, const std::string& message);
  void publish() MUSTER_EXCLUDES(mutex_);
  template <typename F>
  void count(F change) MUSTER_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    change(shared_.metrics);
  }

  const std::string name_space_;
  CoordinatorOptions options_;
  Loop& loop_;
  ObjectStore& store_;
  std::function<void(Callback<Done>)> probe_;
  Random random_;
  std::shared_ptr<PluginHost> host_;
  ElectionDriver driver_;
  WorkerRegistration registration_;
  Roster roster_;
  ControlReader control_;
  CircuitBreaker breaker_;
  ContentionDetector contention_;
  StoreFailures failures_;
  LatencyWindow latencies_;
  Histogram election_durations_;
  std::unique_ptr<Watch> state_watch_;
  std::unique_ptr<Watch> control_watch_;
  Timer start_timer_;
  Timer stop_timer_;
  Timer hold_off_timer_;

  std::shared_ptr<LeaseGuard> guard_;
  std::optional<MonoTime> campaign_began_;
  std::optional<MonoTime> failing_since_;  ///< When the first of the failing beats in a row began.
  std::uint64_t trips_told_ = 0;           ///< Openings of the breaker in reported outages.
  bool started_ = false;
  bool stopping_ = false;
  bool stall_reported_ = false;
  bool eligible_ = true;  ///< As set by set_eligible().
  bool paused_ = false;
  std::function<void()> handed_over_;
  std::optional<Epoch> releasing_;  ///< The term whose release the store has not confirmed yet.

  mutable Mutex mutex_;
  Shared shared_ MUSTER_GUARDED_BY(mutex_);
  Lifetime lifetime_;
};

}  // namespace muster
