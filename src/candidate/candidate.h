#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/mutex.h"
#include "candidate/candidate_options.h"
#include "candidate/leader_work.h"
#include "candidate/telemetry.h"
#include "core/candidate/candidate_machine.h"
#include "core/candidate/leader_monitor.h"
#include "elector/participant.h"
#include "store/store.h"

namespace muster {

/// One node that campaigns and runs leader-only work while it leads. It connects its part in the
/// election, the state machine and the monitor of other leaders. It gives the guarantees of
/// CandidateMachine and Election: the work is never started twice, and the lease is released only
/// after the work has confirmed its end.
///
/// Threads: one loop, so that a simulator can run it, too.
class Candidate final : private ParticipantFront {
 public:
  using Listener = std::function<void(const telemetry::Event&)>;
  struct Surroundings {
    Loop& loop;
    ObjectStore& store;
    LeaderWork& work;  ///< Must outlive the candidate.
    Random random;
    /// Called on the loop; must not destroy the candidate. Without a listener, events are logged.
    Listener listener;
    /// Called once before the first campaign: is the store safe? Empty: no probe.
    std::function<void(Callback<Done>)> probe;
  };

  /// Requires: `options` has been validated.
  Candidate(std::string name, const CandidateOptions& options, Surroundings surroundings);

  // Loop thread only.
  void start();
  [[nodiscard]] bool started() const { return started_; }
  /// Future terms have higher epochs than this: the work was led elsewhere before.
  void rise_above(Epoch epoch) { participant_.rise_above(epoch); }
  /// Stops the work, releases the lease, removes the node's file, and then calls `done`.
  void stop(std::function<void()> done);
  /// Hands over, and does not campaign before resume().
  void pause();
  void resume();
  /// Hands over, if possible to `preferred`, and pauses campaigning. No effect if not leading.
  void step_down(std::optional<WorkerId> preferred);
  void set_eligible(bool eligible);
  /// The participants as a leader sees them in the store, including this node; sorted by bytes.
  [[nodiscard]] const std::vector<WorkerId>& at_work() const { return participant_.live(); }
  /// The last error of the store, until a heartbeat succeeds; otherwise empty.
  [[nodiscard]] const std::string& store_trouble() const { return store_trouble_; }
  /// Whether the last read of the store succeeded; false before the first one.
  [[nodiscard]] bool store_answers() const { return store_answers_; }

  // Any thread.
  [[nodiscard]] CandidateState state() const MUSTER_EXCLUDES(mutex_);
  /// Compares the deadline with the moment of the call.
  [[nodiscard]] bool leads() const { return participant_.leads(); }
  /// The leader as last seen, unless its lease has ended.
  [[nodiscard]] std::optional<WorkerId> current_leader() const;
  [[nodiscard]] Epoch epoch() const { return participant_.epoch(); }
  /// Like current_leader(), with its term and the value that it publishes.
  [[nodiscard]] std::optional<Participant::SeenLeader> seen_leader() const {
    return participant_.leader();
  }
  [[nodiscard]] telemetry::Metrics metrics() const MUSTER_EXCLUDES(mutex_);
  /// The time for which this node may lead without another renewal; zero if it does not lead.
  [[nodiscard]] Duration lease_left() const { return participant_.lease_left(); }
  [[nodiscard]] const WorkerId& node() const { return options_.node; }
  [[nodiscard]] const CandidateOptions& options() const { return options_; }

 private:
  struct Shared {
    CandidateState state = CandidateState::kIneligible;
    telemetry::Metrics metrics;
  };

  // What the participant asks and tells.
  void on(const ElectionEvent& event) override;
  void on_unsafe_store(const Error& why) override;
  void on_start() override;
  void on_beat(MonoTime began, bool failed) override;
  void on_workers(std::size_t, std::size_t) override {}
  [[nodiscard]] bool paused() const override { return machine_.paused(); }
  [[nodiscard]] bool is_for_me(const ControlCommand& command) const override;
  void obey(const ControlCommand& command) override;
  void on_bad_command(const Error& why) override;

  void check();
  void look(bool answered);
  void note(const std::vector<MonitorEvent>& events);
  void wake();
  void arm();

  /// Performs actions in order, including those that arrive while it runs.
  void run(CandidateActions actions);
  void act(const candidate::Action& action);
  void start_work(Epoch epoch);
  void stop_work(MonoTime by);
  void note_failure(const Error& error);

  void tell(telemetry::What what);
  void publish() MUSTER_EXCLUDES(mutex_);

  const std::string name_;
  const CandidateOptions options_;
  Loop& loop_;
  LeaderWork& work_;
  Listener listener_;
  CandidateMachine machine_;
  Participant participant_;
  LeaderMonitor monitor_;
  Timer timer_;        ///< Of the machine and the monitor.
  Timer check_timer_;  ///< election_check.

  std::deque<candidate::Action> pending_;
  bool running_ = false;  ///< Actions are being performed.
  bool started_ = false;
  bool stopping_ = false;
  bool took_part_ = false;
  bool work_started_ = false;
  bool gone_ = false;
  bool store_answers_ = false;
  MonoTime looked_at_{};        ///< The last heartbeat, good or bad.
  bool store_failing_ = false;  ///< Reported, and no heartbeat has succeeded since.
  bool trouble_seen_ = false;   ///< Since the last heartbeat.
  std::string store_trouble_;   ///< The last error of the store while it fails.
  std::vector<std::function<void()>> stopped_;
  Lifetime term_;  ///< For the callbacks of one term's work.

  mutable Mutex mutex_;
  Shared shared_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
