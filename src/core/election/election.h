#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/election/lease.h"
#include "core/election/records.h"

namespace muster {

/// What one worker saw of the state and of the floor, for one that continues in its place: by the
/// same clock, and in the same history of the store.
struct ElectionObservation {
  LeaseObserver lease;
  /// State and floor that may hide a leader, and since when they have been unchanged.
  std::optional<Revision> doubted_state{};
  std::optional<Revision> doubted_floor{};
  MonoTime doubted_since{};
};

struct ElectionConfig {
  WorkerId id;
  Incarnation incarnation;  ///< New for every start of a process.
  LeaseTerms terms;
  Duration interval = 5s;    ///< Between two heartbeats: renewals or reads of the state.
  Duration jitter = 1s;      ///< Added to each interval, uniform from zero.
  Duration retry_wait = 1s;  ///< After a failed request, jittered by half; at most an interval.
  /// How long a worker that is not first waits for those before it, uniform from half.
  Duration turn_wait = 1s;
  ElectionObservation observed{};
  /// The owner of the term is elsewhere, counts the lease by its own clock, and sends beats, of
  /// which told() learns. The worker renews once for each beat, and for no other reason, and
  /// campaigns only while beats come.
  bool renews_when_told = false;
  /// The term with this epoch and incarnation began elsewhere and goes on here. If the first state
  /// that is read does not show it, it is lost, and this worker never campaigns. Requires:
  /// `renews_when_told`.
  std::optional<Epoch> resumed{};
};

/// The machine's requests to its driver. One at a time: the next one comes only after the answer to
/// the last. The moment at which a request is returned counts as its send, so the driver must send
/// it at once.
struct ReadState {
  std::optional<Revision> unless;
};
struct WriteState {
  LeaderState state;           ///< The driver adds data for people: times, pod, workers.
  std::optional<Revision> at;  ///< Only at this revision; empty: only if there is none.
};
struct ReadFloor {};
struct RaiseFloor {
  Epoch floor;
  Duration lease_max;
  std::optional<Revision> at;
};
struct ListWorkers {};
using ElectionRequest = std::variant<ReadState, WriteState, ReadFloor, RaiseFloor, ListWorkers>;

/// Answers. An undecodable state has its revision and a problem.
struct SeenState {
  Revision revision;
  std::optional<LeaderState> state;
  std::string problem;
  Epoch salvaged;  ///< Of an undecodable state.
};
struct SeenFloor {
  Revision revision;
  Epoch floor;
  Duration lease_max{};
  std::string problem;  ///< Not empty: unreadable, `floor` is meaningless.
  bool newer = false;   ///< Unreadable because a later version wrote it.
};

enum class LossReason {
  kReleased,      ///< It was handed over cleanly.
  kLeftToExpire,  ///< It was given up without a release: the work may still run.
  kExpired,       ///< The deadline passed without a confirmed renewal.
  kReplaced,      ///< The store names another holder.
  kStateLost,     ///< The state vanished, is undecodable, or went back.
};
[[nodiscard]] const char* to_string(LossReason reason);

/// The events, for plugins, people and metrics. `beat` is the number of the beat from which the
/// lease counts, for a worker that renews when told.
struct BecameLeader {
  Epoch epoch;
  MonoTime deadline;
  std::uint64_t beat = 0;
  bool resumed = false;  ///< The term began elsewhere, and goes on here.
};
struct LeaseRenewed {
  Epoch epoch;
  MonoTime deadline;
  std::uint64_t beat = 0;
};
struct LostLeadership {
  Epoch epoch;
  LossReason reason;
};
struct LeaderChanged {
  std::optional<WorkerId> previous;
  std::optional<WorkerId> current;
  Epoch epoch;
  Incarnation incarnation;
};
struct ElectionStarted {};
struct StateTrouble {
  std::string problem;
};
struct StoreTrouble {
  Error error;
};
struct DuplicateWorker {
  Incarnation other;
};
struct Resigned {
  bool released;  ///< Confirmed by the store; false if there was nothing to release.
};
using ElectionEvent =
    std::variant<BecameLeader, LeaseRenewed, LostLeadership, LeaderChanged, ElectionStarted,
                 StateTrouble, StoreTrouble, DuplicateWorker, Resigned>;

struct ElectionStep {
  std::optional<ElectionRequest> request;
  std::vector<ElectionEvent> events;
};

struct ResignOptions {
  bool stop = false;  ///< Never campaign again; otherwise only not before hold_off.
  Duration hold_off{0};
  std::optional<WorkerId> preferred;  ///< The preferred successor.
  /// The work may still run: end the term here, write no receipt, let the lease expire.
  bool without_receipt = false;
};

/// One worker's part in one election: a function of its input and the time, copyable, without I/O,
/// clock or locks. It keeps the rules E1–E7 of docs/architecture.md.
///
/// Guarantees: while leads() is true here, it is true for no other worker of the election, provided
/// the store's compare-and-swap is atomic and clock rates differ by less than the drift; and no
/// epoch is ever used by two terms. Not guaranteed: anything about work that outlives its deadline
/// without checking; fences at the resource are for that.
class Election {
 public:
  Election(ElectionConfig config, Random random);

  /// Compares the deadline with the moment of the call: there is no flag that could be stale.
  [[nodiscard]] bool leads(MonoTime now) const;
  /// The epoch of the last term, also after its deadline; none after its end.
  [[nodiscard]] std::optional<Epoch> term_epoch() const {
    return term_ ? std::optional(term_->epoch) : std::nullopt;
  }
  [[nodiscard]] std::optional<MonoTime> deadline() const {
    return term_ ? std::optional(term_->deadline) : std::nullopt;
  }
  /// The highest epoch of any state that this worker has seen.
  [[nodiscard]] Epoch epoch() const { return seen_epoch_; }
  /// The holder as last read or written, unless its lease, as observed here, has ended.
  [[nodiscard]] std::optional<WorkerId> leader(MonoTime now) const;
  /// The time until which leader() is valid without a renewal; in the past without a known leader.
  [[nodiscard]] MonoTime leader_until() const;
  [[nodiscard]] const std::optional<LeaderState>& last_state() const { return known_.state; }
  [[nodiscard]] ElectionObservation observed() const {
    return {observer_, doubted_state_, doubted_floor_, doubted_since_};
  }
  /// When wake() is due. It is due during a request, too: it detects a lapsed term.
  [[nodiscard]] MonoTime wake_at() const;
  [[nodiscard]] bool idle() const { return phase_ == Phase::kIdle; }
  [[nodiscard]] bool stopped() const { return stopped_; }

  /// The heartbeat. Spurious calls are harmless; a push from the store is one.
  ElectionStep wake(MonoTime now);
  /// Time has passed and no request may be made now: only detects a lapsed term.
  ElectionStep tick(MonoTime now);
  /// The owner has sent a beat; the numbers rise. Every request that is returned from now on counts
  /// as sent because of it. Requires: the worker renews when told.
  ElectionStep told(std::uint64_t beat, MonoTime now);
  /// An older copy, or another store, took the store's place. Call it before passing on any later
  /// answer.
  ElectionStep store_went_back(MonoTime now);
  ElectionStep state_read(Result<SeenState> seen, MonoTime now);
  ElectionStep state_written(Result<Revision> written, MonoTime now);
  ElectionStep floor_read(Result<SeenFloor> seen, MonoTime now);
  ElectionStep floor_raised(Result<Revision> written, MonoTime now);
  ElectionStep workers_listed(Result<std::vector<WorkerId>> workers, MonoTime now);

  /// Ends the term here and now, and then in the store. Requires: the work was stopped before.
  ElectionStep resign(ResignOptions options, MonoTime now);
  /// Future terms have higher epochs than this: the work was led elsewhere before, which this store
  /// does not show.
  void rise_above(Epoch epoch) { above_ = std::max(above_, epoch); }
  /// A worker that is not eligible observes and never campaigns.
  ElectionStep set_eligible(bool eligible, MonoTime now);

 private:
  enum class Phase { kIdle, kReadingState, kWritingState, kReadingFloor, kRaisingFloor, kListing };
  enum class WriteKind { kAcquire, kRenew, kRelease, kBarrier };
  enum class Claim { kHeld, kFree, kUnclear, kLost };

  struct Term {
    Epoch epoch;
    MonoTime deadline;
  };
  /// A write that was sent and is not settled yet. All of them are at the revision `known_`.
  struct Sent {
    Nonce nonce;
    MonoTime at;  ///< The start of the lease that it begins or renews.
    WriteKind kind;
    Epoch epoch;
    std::uint64_t beat;  ///< The beat from which that lease counts.
  };
  /// A beat of an owner that is elsewhere.
  struct Beat {
    std::uint64_t number;
    MonoTime at;  ///< When this worker was told of it, which is later than its send.
  };
  /// The state as last read or written. Without a revision there was none.
  struct Known {
    bool read = false;
    std::optional<Revision> revision;
    std::optional<LeaderState> state;
    std::string problem;
  };

  struct Floor {
    std::optional<Revision> revision;
    Epoch epoch;
    std::string problem;
    bool newer = false;
  };

  ElectionStep finish();
  void ask(Phase phase, ElectionRequest request);
  void wait_until(MonoTime when);
  [[nodiscard]] Duration patience(const Error& error, MonoTime now);
  void wait_after_failure(const Error& error, MonoTime now);
  void wait_one_interval(MonoTime now);
  void wait_until_allowed(MonoTime now);

  void note_lapse(MonoTime now);
  void lose(LossReason reason);
  void grant(const Sent& sent, MonoTime now);

  void learn(Known seen, Epoch at_least, MonoTime now);
  void settle(const Known& seen, MonoTime now);
  void report_lost_state();
  void report_twin(bool first_look);
  void report_new_leader(const std::optional<LeaderState>& before);
  [[nodiscard]] bool mine(const std::optional<LeaderState>& state) const;
  [[nodiscard]] bool state_is_lost() const;
  [[nodiscard]] bool state_went_back() const;
  void note_epoch();
  [[nodiscard]] bool may_campaign(MonoTime now) const {
    return eligible_ && now >= hold_off_until_ && owner_beats(now);
  }
  /// The owner has sent a beat lately; also true without an owner elsewhere.
  [[nodiscard]] bool owner_beats(MonoTime now) const;
  /// The last beat has not been confirmed yet.
  [[nodiscard]] bool owes_renewal() const;
  [[nodiscard]] bool is_own_epoch(Epoch epoch) const;
  void resume(MonoTime now);

  void consider(MonoTime now);
  [[nodiscard]] Claim claim(MonoTime now) const;
  [[nodiscard]] MonoTime held_until() const;
  [[nodiscard]] MonoTime holder_until() const;
  [[nodiscard]] bool is_barrier() const;
  [[nodiscard]] bool may_hide_a_leader() const;
  void doubt(MonoTime now);
  [[nodiscard]] bool my_turn(MonoTime now);
  void campaign(MonoTime now);
  void put_barrier(MonoTime now);
  void give_back(MonoTime now);
  [[nodiscard]] bool refuses_without_floor(MonoTime now);
  void write(WriteKind kind, LeaderState state, MonoTime now);
  void renew(MonoTime now);
  void release(MonoTime now);
  void finish_resigning(bool released, MonoTime now);

  ElectionConfig config_;
  Random random_;
  Phase phase_ = Phase::kIdle;
  MonoTime wake_at_ = MonoTime::min();
  std::optional<Term> term_;
  Epoch seen_epoch_;
  Incarnation seen_holder_;  ///< Of that epoch; empty if unknown.
  Known known_;
  std::string lost_told_;      ///< The problem of a lost state that was last reported; empty: none.
  Incarnation reported_twin_;  ///< A reported second process with this id.
  LeaseObserver observer_;
  std::vector<Sent> sent_;
  LeaderState writing_;  ///< The content of the last one.
  Epoch next_epoch_;     ///< Being acquired.
  /// From when its lease counts: just before the floor was raised for it, or the beat before that.
  MonoTime campaign_began_{};
  std::uint64_t campaign_beat_ = 0;
  Epoch above_;  ///< By rise_above().
  /// The floor as last read, until it is used; without a revision there was none.
  std::optional<Floor> floor_;
  std::optional<Revision> raised_;  ///< The floor as this worker last wrote it.
  /// State and floor that may hide a leader, as last read, and since when they have been unchanged.
  std::optional<Revision> doubted_state_;
  std::optional<Revision> doubted_floor_;
  MonoTime doubted_since_{};
  /// The store went back; no lease that was running then lasts longer than this.
  MonoTime doubted_until_ = MonoTime::min();
  Duration longest_lease_seen_{0};
  std::optional<MonoTime> turn_at_;
  std::optional<std::vector<WorkerId>> listed_;
  std::optional<ResignOptions> resigning_;
  MonoTime hold_off_until_ = MonoTime::min();
  bool eligible_ = true;
  bool stopped_ = false;
  std::optional<Error> write_failed_;  ///< The read under way settles a write that failed so.
  bool retry_renewal_ = false;  ///< The last renewal has not landed, and the state was read since.
  std::optional<Beat> told_;    ///< The last beat.
  std::uint64_t beats_confirmed_ = 0;  ///< The beats with lower numbers.
  Epoch own_epoch_;                    ///< Of the last term that this worker wrote.
  std::optional<Epoch> resuming_;      ///< The term that began elsewhere, until it goes on here.
  ElectionStep step_;
};

}  // namespace muster
