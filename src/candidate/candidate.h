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
#include "elector/control.h"
#include "elector/election_driver.h"
#include "elector/roster.h"
#include "elector/store_failures.h"
#include "elector/worker_registration.h"
#include "store/store.h"

namespace muster {

/// One node that campaigns and runs leader-only work while it leads. It connects the state machine,
/// the election, the monitor of other leaders, the node's file and the commands in the store. It
/// gives the guarantees of CandidateMachine and Election: the work is never started twice, and the
/// lease is released only after the work has confirmed its end.
///
/// Threads: one loop, so that a simulator can run it, too.
class Candidate {
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
  ~Candidate();

  // Loop thread only.
  void start();
  [[nodiscard]] bool started() const { return started_; }
  /// Future terms have higher epochs than this: the work was led elsewhere before.
  void rise_above(Epoch epoch) { driver_.rise_above(epoch); }
  /// Stops the work, releases the lease, removes the node's file, and then calls `done`.
  void stop(std::function<void()> done);
  /// Hands over, and does not campaign before resume().
  void pause();
  void resume();
  /// Hands over, if possible to `preferred`, and pauses campaigning. No effect if not leading.
  void step_down(std::optional<WorkerId> preferred);
  void set_eligible(bool eligible);
  /// The participants as a leader sees them in the store, including this node; sorted by bytes.
  [[nodiscard]] const std::vector<WorkerId>& at_work() const { return roster_.live(); }
  /// The last error of the store, until a heartbeat succeeds; otherwise empty.
  [[nodiscard]] const std::string& store_trouble() const { return store_trouble_; }
  /// Whether the last read of the store succeeded; false before the first one.
  [[nodiscard]] bool store_answers() const { return store_answers_; }

  // Any thread.
  [[nodiscard]] CandidateState state() const MUSTER_EXCLUDES(mutex_);
  /// Compares the deadline with the moment of the call.
  [[nodiscard]] bool leads() const MUSTER_EXCLUDES(mutex_);
  /// The leader as last seen, unless its lease has ended.
  [[nodiscard]] std::optional<WorkerId> current_leader() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] Epoch epoch() const MUSTER_EXCLUDES(mutex_);
  /// A leader, its term, and the value that it publishes.
  struct SeenLeader {
    WorkerId worker;
    Epoch epoch;
    std::string value;
    bool operator==(const SeenLeader&) const = default;
  };
  /// Like current_leader().
  [[nodiscard]] std::optional<SeenLeader> seen_leader() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] telemetry::Metrics metrics() const MUSTER_EXCLUDES(mutex_);
  /// The time for which this node may lead without another renewal; zero if it does not lead.
  [[nodiscard]] Duration lease_left() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] const WorkerId& node() const { return options_.node; }
  [[nodiscard]] const CandidateOptions& options() const { return options_; }

 private:
  struct Shared {
    CandidateState state = CandidateState::kIneligible;
    std::shared_ptr<const LeaseGuard> guard;
    std::optional<SeenLeader> leader;
    MonoTime leader_until = MonoTime::min();
    Epoch epoch;
    telemetry::Metrics metrics;
  };

  Candidate(std::string name, const CandidateOptions& filled, Surroundings& surroundings,
            ElectionConfig config);

  void begin();
  void probed(const Status& safe);
  void take_part();
  void watch_store();
  void check();

  void after_beat(bool failed);
  void look_for_commands();
  void look(bool answered);
  void note(const std::vector<MonitorEvent>& events);
  void wake();
  void arm();

  void on(const ElectionEvent& event);
  /// Performs actions in order, including those that arrive while it runs.
  void run(CandidateActions actions);
  void act(const candidate::Action& action);
  void start_work(Epoch epoch);
  void stop_work(MonoTime by);
  [[nodiscard]] bool is_for_me(const ControlCommand& command) const;
  void obey(const ControlCommand& command);

  void tell(telemetry::What what);
  void publish() MUSTER_EXCLUDES(mutex_);

  const std::string name_;
  const CandidateOptions options_;
  Loop& loop_;
  ObjectStore& store_;
  LeaderWork& work_;
  Listener listener_;
  std::function<void(Callback<Done>)> probe_;
  Random random_;
  CandidateMachine machine_;
  LeaderMonitor monitor_;
  ElectionDriver driver_;
  WorkerRegistration registration_;
  Roster roster_;
  ControlReader control_;
  std::unique_ptr<Watch> state_watch_;
  std::unique_ptr<Watch> control_watch_;
  Timer timer_;        ///< Of the machine and the monitor.
  Timer check_timer_;  ///< election_check.
  Timer probe_timer_;

  std::shared_ptr<LeaseGuard> guard_;
  std::deque<candidate::Action> pending_;
  bool running_ = false;  ///< Actions are being performed.
  bool started_ = false;
  bool stopping_ = false;
  bool took_part_ = false;
  bool work_started_ = false;
  bool gone_ = false;
  bool store_answers_ = false;
  MonoTime looked_at_{};  ///< The last heartbeat, good or bad.
  StoreFailures failures_;
  bool store_failing_ = false;  ///< Reported, and no heartbeat has succeeded since.
  bool trouble_seen_ = false;   ///< Since the last heartbeat.
  std::string store_trouble_;   ///< The last error of the store while it fails.
  std::vector<std::function<void()>> stopped_;
  Lifetime term_;  ///< For the callbacks of one term's work.
  Lifetime lifetime_;

  mutable Mutex mutex_;
  Shared shared_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
