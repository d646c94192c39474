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

/// One node that stands for election and runs leader-only work while it leads: the machine, the
/// election, the monitor of other leaders, the node's file and the commands in the store, wired
/// together. It promises what CandidateMachine and Election promise; the work is never started
/// twice, and the lease is released only after the work said that it is gone.
///
/// It belongs to one loop, so that a simulator can run it too.
class Candidate {
 public:
  using Listener = std::function<void(const telemetry::Event&)>;
  struct Surroundings {
    Loop& loop;
    ObjectStore& store;
    LeaderWork& work;  ///< Outlives the candidate.
    Random random;
    /// Called on the loop; must not destroy the candidate. Without one, events are logged.
    Listener listener;
    /// Asked once before the first campaign: is the store fit to judge? Empty: not asked.
    std::function<void(Callback<Done>)> probe;
  };

  /// `options` has been validated.
  Candidate(std::string name, const CandidateOptions& options, Surroundings surroundings);
  ~Candidate();

  // Loop thread only.
  void start();
  [[nodiscard]] bool started() const { return started_; }
  /// Coming terms have higher epochs than this: the work was led elsewhere before.
  void rise_above(Epoch epoch) { driver_.rise_above(epoch); }
  /// Stops the work, releases the lease, removes the node's file, and then calls `done`.
  void stop(std::function<void()> done);
  /// Hands over, and does not stand again before resume().
  void pause();
  void resume();
  /// Hands over, to `preferred` if it can, and stands aside for a while. Nothing when not leading.
  void step_down(std::optional<WorkerId> preferred);
  void set_eligible(bool eligible);
  /// Who takes part, this node included, as a leader sees it in the store; sorted by bytes.
  [[nodiscard]] const std::vector<WorkerId>& at_work() const { return roster_.live(); }
  /// The last error of the store, until a heartbeat has passed without one; empty otherwise.
  [[nodiscard]] const std::string& store_trouble() const { return store_trouble_; }
  /// The last look at the store succeeded. No look has, before the first one.
  [[nodiscard]] bool store_answers() const { return store_answers_; }

  // Any thread.
  [[nodiscard]] CandidateState state() const MUSTER_EXCLUDES(mutex_);
  /// Compared with the deadline at the moment of asking.
  [[nodiscard]] bool leads() const MUSTER_EXCLUDES(mutex_);
  /// As last seen from here, while that leader's lease has not ended.
  [[nodiscard]] std::optional<WorkerId> current_leader() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] Epoch epoch() const MUSTER_EXCLUDES(mutex_);
  /// A leader, the term it leads in, and what it publishes.
  struct SeenLeader {
    WorkerId worker;
    Epoch epoch;
    std::string value;
    bool operator==(const SeenLeader&) const = default;
  };
  /// As current_leader().
  [[nodiscard]] std::optional<SeenLeader> seen_leader() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] telemetry::Metrics metrics() const MUSTER_EXCLUDES(mutex_);
  /// How long this node may lead without another renewal; zero when it does not lead.
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
  /// Carries actions out in their order, also those that come while it does.
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
  Timer timer_;        ///< The machine's and the monitor's.
  Timer check_timer_;  ///< election_check.
  Timer probe_timer_;

  std::shared_ptr<LeaseGuard> guard_;
  std::deque<candidate::Action> pending_;
  bool running_ = false;  ///< Actions are being carried out.
  bool started_ = false;
  bool stopping_ = false;
  bool took_part_ = false;
  bool work_started_ = false;
  bool gone_ = false;
  bool store_answers_ = false;
  MonoTime looked_at_{};  ///< The last heartbeat, good or bad.
  StoreFailures failures_;
  bool store_failing_ = false;  ///< Told, and no heartbeat has passed without trouble since.
  bool trouble_seen_ = false;   ///< Since the last heartbeat.
  std::string store_trouble_;   ///< What the store said last, while it is failing.
  std::vector<std::function<void()>> stopped_;
  Lifetime term_;  ///< Of the callbacks of one term's work.
  Lifetime lifetime_;

  mutable Mutex mutex_;
  Shared shared_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
