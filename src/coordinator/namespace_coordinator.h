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
#include "elector/participant.h"
#include "store/store.h"

namespace muster {

/// One worker of the coordinator in one election, with plugins, circuit breaker, contention and
/// metrics over its part in the election. It belongs to one loop, so that a simulator can run it,
/// too; GlobalCoordinator is its interface for other threads.
class NamespaceCoordinator final : private ParticipantFront {
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

  // Loop thread only.
  void start();
  void stop(std::function<void()> done);
  void step_down(std::optional<WorkerId> preferred, Duration hold_off, std::function<void()> done);
  void set_eligible(bool eligible);
  /// Hands over, and does not campaign before resume().
  void pause();
  void resume();

  // Any thread.
  [[nodiscard]] bool leads() const { return participant_.leads(); }
  [[nodiscard]] Duration lease_left() const { return participant_.lease_left(); }
  [[nodiscard]] std::optional<WorkerId> leader() const;
  [[nodiscard]] Epoch epoch() const { return participant_.epoch(); }
  [[nodiscard]] std::vector<WorkerId> workers() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] CoordinatorMetrics metrics() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] const WorkerId& worker_id() const { return options_.worker_id; }
  [[nodiscard]] const CoordinatorOptions& options() const { return options_; }
  [[nodiscard]] PluginHost& plugins() { return *host_; }

 private:
  /// State for other threads.
  struct Shared {
    std::vector<WorkerId> workers;
    CoordinatorMetrics metrics;
  };

  // What the participant asks and tells.
  void on(const ElectionEvent& event) override;
  void on_unsafe_store(const Error& why) override;
  void on_start() override;
  void on_beat(MonoTime began, bool failed) override;
  void on_workers(std::size_t appeared, std::size_t timed_out) override;
  MonoTime not_before(MonoTime now) override;
  [[nodiscard]] bool paused() const override { return paused_; }
  [[nodiscard]] bool is_for_me(const ControlCommand& command) const override;
  void obey(const ControlCommand& command) override;
  void on_bad_command(const Error& why) override;

  void compare_timings();
  void note_contention(const std::optional<ContentionEvent>& late);
  void note_breaker(const std::optional<CircuitTransition>& transition);
  void tell_outage(const CircuitTransition& closed);
  void check_plugins();

  void handle(const BecameLeader& event);
  void handle(const LeaseRenewed&) {}
  void handle(const LostLeadership& event);
  void handle(const LeaderChanged& event);
  void handle(const ElectionStarted& event);
  void handle(const StateTrouble& event);
  void handle(const StoreTrouble& event);
  void handle(const DuplicateWorker& event);
  void handle(const Resigned& event);

  void show_standing();
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
  Random random_;
  std::shared_ptr<PluginHost> host_;
  Participant participant_;
  CircuitBreaker breaker_;
  ContentionDetector contention_;
  LatencyWindow latencies_;
  Histogram election_durations_;
  Timer stop_timer_;
  Timer hold_off_timer_;

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
