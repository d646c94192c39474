#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/mutex.h"
#include "elector/control.h"
#include "elector/election_driver.h"
#include "elector/lease_guard.h"
#include "elector/roster.h"
#include "elector/store_failures.h"
#include "elector/worker_registration.h"
#include "store/store.h"

namespace muster {

/// The owner of a Participant: it is told what happens and decides what is done during a term.
/// Threads: all calls come on the participant's loop. None may destroy the participant.
class ParticipantFront {
 public:
  /// An event of the election. Participant::guard() already follows it.
  virtual void on(const ElectionEvent& event) = 0;
  /// The store cannot judge an election: this worker never takes part.
  virtual void on_unsafe_store(const Error& why) = 0;
  /// The worker takes part from now on.
  virtual void on_start() = 0;
  /// A heartbeat has ended. The worker's file, the list of workers and commands come after this.
  virtual void on_beat(MonoTime began, bool failed) = 0;
  /// The live workers have changed; the counts are for metrics.
  virtual void on_workers(std::size_t appeared, std::size_t timed_out) = 0;
  /// No heartbeat may start before this time. Asked before each one.
  virtual MonoTime not_before(MonoTime now) { return now; }

  /// Paused by an operator: waits for the command that resumes it.
  [[nodiscard]] virtual bool paused() const = 0;
  /// Whether the command is for this worker, now.
  [[nodiscard]] virtual bool is_for_me(const ControlCommand& command) const = 0;
  virtual void obey(const ControlCommand& command) = 0;
  /// `control.json` does not contain a command.
  virtual void on_bad_command(const Error& why) = 0;

 protected:
  ~ParticipantFront() = default;
};

/// One worker's part in one election of a store: the probe of the store, the election, the worker's
/// file, the list of live workers, the operator's commands and the watches. It decides nothing
/// about the work of a term: that is its front's.
///
/// Threads: one loop, so that a simulator can run it, too, unless a function says otherwise.
class Participant {
 public:
  struct Options {
    std::string name;  ///< Of the election.
    WorkerId id;
    std::string pod;
    std::string value;  ///< Published while this worker leads.
    std::string aside;  ///< Why this worker would not lead; empty: it would.
    LeaseTerms terms;
    Duration request_timeout = 3s;
    Duration heartbeat_interval = 5s;
    Duration heartbeat_jitter = 1s;
    Duration worker_timeout = 20s;
    /// Between two lists of the worker files by a leader.
    Duration list_interval = 9s;
    /// These lists come often enough to show a leader its commands; otherwise it reads
    /// `control.json` with each heartbeat.
    bool list_shows_commands = false;
    /// The term's owner is elsewhere: as in ElectionConfig. Its incarnation is its own.
    bool renews_when_told = false;
    std::optional<Incarnation> incarnation;  ///< Empty: a new one.
    std::optional<Epoch> resumed;
  };
  struct Deps {
    Loop& loop;
    ObjectStore& store;
    Random random;
    /// Called once before the first campaign: is the store safe? Empty: no probe.
    std::function<void(Callback<Done>)> probe;
  };
  /// A leader, its term, and the value that it publishes.
  struct SeenLeader {
    WorkerId worker;
    Epoch epoch;
    std::string value;
    bool operator==(const SeenLeader&) const = default;
  };

  Participant(Options options, Deps deps, ParticipantFront& front);
  ~Participant();
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  /// Probes the store after `delay`, writes the worker's file, and takes part.
  void start(Duration delay);
  /// The owner has begun to stop: the part does not begin any more, and the worker's file is not
  /// written again.
  void retire();
  /// Ends the watches and removes the worker's file. Requires: the election has been resigned.
  void leave(std::function<void()> done);

  void resign(ResignOptions options) { driver_.resign(std::move(options)); }
  void set_eligible(bool eligible) { driver_.set_eligible(eligible); }
  void rise_above(Epoch epoch) { driver_.rise_above(epoch); }
  /// From the next heartbeat on, the worker's file says why this worker would not lead.
  void stand_aside(std::string why) { registration_.stand_aside(std::move(why)); }
  /// From the next heartbeat on, the worker's file tells of an outage.
  void tell_outage(const Outage& outage) { registration_.report(outage); }
  /// Reads the state now, or renews.
  void nudge() { driver_.nudge(); }
  /// The term's owner has sent a beat. Requires: Options::renews_when_told.
  void told(std::uint64_t beat) { driver_.told(beat); }
  /// Reads `control.json` now.
  void look_for_commands() { control_.look(); }
  /// Logs a failed request of the store, throttled, with `where` before its own fields. `told`: the
  /// operator has learned of it in another way.
  void note_failure(const Error& error, LogLine::Fields where, bool told = false) {
    failures_.note(error, std::move(where), loop_.now(), told);
  }

  [[nodiscard]] const Election& election() const { return driver_.election(); }
  [[nodiscard]] const NamespaceKeys& keys() const { return driver_.keys(); }
  [[nodiscard]] const Incarnation& incarnation() const { return incarnation_; }
  [[nodiscard]] bool leads_now() const { return election().leads(loop_.now()); }
  /// The guard of the current term; null without one.
  [[nodiscard]] const std::shared_ptr<LeaseGuard>& guard() const { return guard_; }
  /// The live workers as a leader sees them, including this one; sorted by bytes.
  [[nodiscard]] const std::vector<WorkerId>& live() const { return roster_.live(); }

  /// Shows other threads the present state.
  void publish() MUSTER_EXCLUDES(mutex_);

  // Any thread, as last published.
  /// Compares the deadline with the moment of the call.
  [[nodiscard]] bool leads() const MUSTER_EXCLUDES(mutex_);
  /// The time for which this worker may lead without another renewal; zero if it does not lead.
  [[nodiscard]] Duration lease_left() const MUSTER_EXCLUDES(mutex_);
  /// The leader as last seen, unless its lease has ended.
  [[nodiscard]] std::optional<SeenLeader> leader() const MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] Epoch epoch() const MUSTER_EXCLUDES(mutex_);

 private:
  struct Shared {
    std::shared_ptr<const LeaseGuard> guard;
    std::optional<SeenLeader> leader;
    MonoTime leader_until = MonoTime::min();
    Epoch epoch;
  };

  Participant(Options options, Deps& deps, ParticipantFront& front, const ElectionConfig& config);
  void begin();
  void probed(const Status& safe);
  void take_part();
  void watch_store();
  void on(const ElectionEvent& event);
  void after_beat(MonoTime began, bool failed);
  void list_workers();

  const Options options_;
  const Incarnation incarnation_;
  Loop& loop_;
  ObjectStore& store_;
  ParticipantFront& front_;
  std::function<void(Callback<Done>)> probe_;
  Random random_;
  ElectionDriver driver_;
  WorkerRegistration registration_;
  Roster roster_;
  ControlReader control_;
  StoreFailures failures_;
  std::unique_ptr<Watch> state_watch_;
  std::unique_ptr<Watch> control_watch_;
  Timer start_timer_;
  std::shared_ptr<LeaseGuard> guard_;
  bool retired_ = false;

  mutable Mutex mutex_;
  Shared shared_ MUSTER_GUARDED_BY(mutex_);
  Lifetime lifetime_;
};

}  // namespace muster
