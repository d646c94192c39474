#pragma once

#include <muster/coordinator.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::api {
class ClaimCore;
class CountersCore;
class QueueCore;
class SchedulerCore;
class TtlCore;
class TtlRecordCore;
}  // namespace muster::api

/// Ready-made plugins: a scheduler, a queue, counters, and the removal of expired records. Each is
/// opened on a GlobalCoordinator, in whose election it takes part, and does the leader's work while
/// that leads.
///
/// Their handles may outlive the coordinator. Then this process no longer does the leader's work,
/// but functions that only use the store still work. Destroying a handle is stop(): no callback
/// runs afterwards. In a callback it does not wait for those under way.
///
/// Points in time are in milliseconds since 1970.
MUSTER_BEGIN_NAMESPACE

/// What happens to runs that were due while there was no leader, or that the clock jumped over.
enum class MissedRuns : int {
  kSkip = 0,     ///< Dropped.
  kRunOnce = 1,  ///< One run, for the latest of them.
  kRunAll = 2,   ///< Each of them in order, the latest run_all_max.
};

/// What happens to a run that a leader claimed without ever reporting its end.
enum class InterruptedRuns : int {
  kSkip = 0,   ///< It may have run, so it is not run again.
  kRerun = 1,  ///< It is run again, at most twice: at least once instead of at most once.
};

/// One run of a job. It must send lease.token() with every external write; a long run must check
/// the lease again before each effect.
struct ScheduledRun {
  std::string job;
  std::int64_t due;       ///< The due time in the schedule.
  std::uint64_t attempt;  ///< Above 1: an earlier attempt was interrupted.
  const Lease& lease;     ///< Valid until the run returns.
};

struct ScheduledJob {
  std::string name{};  ///< Letters, digits and `._-`, at most 128.
  /// Minute, hour, day of month, month, day of week: "30 2 * * MON-FRI".
  std::string cron{};
  std::string zone = "UTC";  ///< "Europe/Berlin", from the system's database of time zones.
  std::function<void(const ScheduledRun&)> run{};
  MissedRuns missed = MissedRuns::kRunOnce;
  std::size_t run_all_max = 100;
  InterruptedRuns interrupted = InterruptedRuns::kSkip;
  /// A run that starts later than this counts as missed. Must exceed a change of leaders.
  Duration tolerance = Duration(60'000'000'000);
};

/// Counts of a scheduler so far.
struct SchedulerMetrics {
  std::uint64_t started = 0;
  std::uint64_t failed = 0;       ///< Threw.
  std::uint64_t interrupted = 0;  ///< Found claimed, without an end.
  std::uint64_t dropped = 0;      ///< Series of missed runs that the policy omitted.
  std::uint64_t returned = 0;     ///< Claimed, but the term was to end before the start.
  std::uint64_t refused = 0;      ///< Times that a higher token was here.
};

/// Runs jobs by the calendar, in the process that leads, each due time at most once for all leaders
/// and whatever the clocks do: a due time is claimed in the store by compare-and-swap before it is
/// run. Exactly once, unless the leader dies between claim and end (InterruptedRuns) or the time
/// was missed (MissedRuns). A new or changed job begins with its next due time.
///
/// No run is started after a stop or hand-over begins, or when a higher token is known. A run under
/// way is not stopped and delays a hand-over: it should check lease.stopping().
///
/// Threads: any. Runs come on the callback thread, one at a time.
class MUSTER_EXPORT Scheduler {
 public:
  /// kInvalid, or kNotFound for a time zone, names the job and its fault.
  [[nodiscard]] static Result<Scheduler> start(const GlobalCoordinator& coordinator,
                                               std::vector<ScheduledJob> jobs);
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  [[nodiscard]] SchedulerMetrics metrics() const;
  /// Waits for the run under way. kInvalid in a callback. A second call has no effect.
  Status stop();

 private:
  explicit Scheduler(std::shared_ptr<muster::api::SchedulerCore> core);
  std::shared_ptr<muster::api::SchedulerCore> core_;
};

struct QueueOptions {
  std::string name = "default";                          ///< The same in all processes.
  Duration dispatch_interval = Duration(1'000'000'000);  ///< Between two rounds of the leader.
  /// How long a claim lasts without extend(); in whole milliseconds.
  Duration visibility_timeout = Duration(30'000'000'000);
  /// Attempts at one message before it is dead: handlers that ran, and claimants that died.
  unsigned attempts_max = 3;
  Duration backoff = Duration(1'000'000'000);  ///< Before the second attempt, then doubled.
  Duration backoff_max = Duration(60'000'000'000);
  /// Limits of one round: messages read, tickets issued at a time, objects
  /// changed.
  std::size_t window_max = 1000;
  std::size_t tickets_max = 100;
  std::size_t changes_max = 500;
  /// How long the mark of a finished message stays. No write may arrive later than this after it
  /// was sent, or a message enqueued twice by the network may run twice.
  Duration tombstone_retention = Duration(60'000'000'000);
  double drift = 0.16;  ///< How far the rates of two clocks may differ.
};

/// A message claimed by one worker. If it is destroyed without acknowledge() or fail(), other
/// workers may claim it after the visibility timeout.
///
/// Threads: one at a time; valid() and left(): any.
class MUSTER_EXPORT QueueClaim {
 public:
  QueueClaim(QueueClaim&&) noexcept;
  QueueClaim& operator=(QueueClaim&&) noexcept;
  ~QueueClaim();

  [[nodiscard]] std::string id() const;
  [[nodiscard]] std::string payload() const;
  /// 1 for the first attempt.
  [[nodiscard]] unsigned attempt() const;
  /// Whether the message may still be run. Becomes false before another worker may claim it.
  [[nodiscard]] bool valid() const;
  [[nodiscard]] Duration left() const;

  /// Extends the claim by another visibility timeout from now. kConflict: the claim was lost.
  [[nodiscard]] Status extend();
  /// The message is done. kConflict: the claim was lost, and another worker runs it again.
  [[nodiscard]] Status acknowledge();
  /// The message is to be tried again, or is dead.
  [[nodiscard]] Status fail(const std::string& reason);

 private:
  friend class Queue;
  explicit QueueClaim(std::shared_ptr<muster::api::ClaimCore> core);
  std::shared_ptr<muster::api::ClaimCore> core_;
};

/// A message that used up its attempts.
struct DeadLetter {
  std::string id{};
  std::string payload{};
  unsigned attempts = 0;
  std::string reason{};  ///< The last failure; at most 1024 bytes.
  std::int64_t died_at = 0;
  std::string name{};  ///< The name of the letter, for discard().
};

/// A queue in the store. Any process enqueues; the leader says which messages may run, and when one
/// is dead; workers claim and run them.
///
/// A message whose enqueue() succeeded is run until it is acknowledged or dead, whatever dies
/// meanwhile, and of two workers at most one holds a valid claim to it at any moment.
///
/// Not guaranteed: that a message runs only once. A worker that dies between the work and the
/// acknowledgement has run what another will run again. Order is about that of the enqueues.
///
/// Threads: any. Calls wait for the store, at most 5 s for each of their requests.
class MUSTER_EXPORT Queue {
 public:
  /// For processes that lead or run messages.
  [[nodiscard]] static Result<Queue> open(const GlobalCoordinator& coordinator,
                                          QueueOptions options = {});
  /// For processes that only enqueue: claim() returns kInvalid.
  [[nodiscard]] static Result<Queue> open(const Arbiter& arbiter, const std::string& name_space,
                                          QueueOptions options = {});
  Queue(Queue&&) noexcept;
  Queue& operator=(Queue&&) noexcept;
  ~Queue();

  /// Returns the message's id. The payload is UTF-8. After kAmbiguous, or in any doubt, call it
  /// again with the same `id`: the result is one message, even if it has been run. So use an id for
  /// one message only: another one with that id counts as the same, or is refused with kConflict.
  [[nodiscard]] Result<std::string> enqueue(const std::string& payload, const std::string& id = {});
  /// A new id that sorts roughly by time, for a caller that needs it before enqueue().
  [[nodiscard]] std::string new_id();

  /// The next message that may run; nullopt if there is none now.
  [[nodiscard]] Result<std::optional<QueueClaim>> claim();
  /// Claims one message, runs it, and acknowledges it, or fails it if `handler` returned an error
  /// or threw. False if there was none.
  [[nodiscard]] Result<bool> run_one(const std::function<Status(QueueClaim&)>& handler);

  [[nodiscard]] Result<std::vector<DeadLetter>> dead_letters();
  /// Removes a letter from dead_letters(). Success if it is already gone.
  [[nodiscard]] Status discard(const DeadLetter& letter);

  /// Ends the leader's work here. kInvalid in a callback. A second call has no effect.
  Status stop();

 private:
  explicit Queue(std::shared_ptr<muster::api::QueueCore> core);
  std::shared_ptr<muster::api::QueueCore> core_;
};

struct CounterOptions {
  Duration fold_interval = Duration(5'000'000'000);  ///< Between two rounds of the leader.
  /// Pages of adds that one round folds; the next round continues where it ended.
  std::size_t pages_max = 8;
  /// How long leaders, one after another, remember a process that adds nothing. No write may arrive
  /// later than half of this after it was sent.
  Duration lane_retention = Duration(3'600'000'000'000);
};

/// Counters to which many processes add without waiting for each other; the leader sums them up. A
/// successful add counts exactly once, whichever process dies at any step, even if a request
/// arrives twice or two leaders are at work.
///
/// Not guaranteed: that consolidated() includes the latest adds.
///
/// Threads: any. Calls wait for the store, at most 5 s for each of their requests.
class MUSTER_EXPORT Counters {
 public:
  /// For processes that lead.
  [[nodiscard]] static Result<Counters> open(const GlobalCoordinator& coordinator,
                                             CounterOptions options = {});
  /// For processes that only add and read.
  [[nodiscard]] static Result<Counters> open(const Arbiter& arbiter, const std::string& name_space,
                                             CounterOptions options = {});
  Counters(Counters&&) noexcept;
  Counters& operator=(Counters&&) noexcept;
  ~Counters();

  /// kAmbiguous, kThrottled: the add counts once or not at all; any other error: not at all.
  [[nodiscard]] Status add(const std::string& counter, std::int64_t amount = 1);
  /// The total at the last fold, by one request; 0 if there was none.
  [[nodiscard]] Result<std::int64_t> consolidated(const std::string& counter);
  /// The total with every add that ended before this call. kUnavailable if the leader folds faster
  /// than this can read.
  [[nodiscard]] Result<std::int64_t> read(const std::string& counter);

  /// Ends the leader's work here. kInvalid in a callback. A second call has no effect.
  Status stop();

 private:
  explicit Counters(std::shared_ptr<muster::api::CountersCore> core);
  std::shared_ptr<muster::api::CountersCore> core_;
};

/// Whether a body is the tombstone of the plugin Ttl, for stores that cannot remove at a revision.
/// Readers must treat it as "no such record". Any thread.
[[nodiscard]] MUSTER_EXPORT bool is_tombstone(const std::string& body);

struct TtlOptions {
  /// The prefix of all records. Not empty, and not `plugin=…`, where coordinators are.
  std::string prefix{};
  std::size_t batch_max = 100;                   ///< Records read in one round.
  Duration interval = Duration(10'000'000'000);  ///< Between two rounds of the leader.
  Duration margin = Duration(0);                 ///< Kept this much longer, as clocks differ.
  /// When a record with this body expires; nullopt: never. Empty: by its JSON field `_expiresAt`.
  std::function<std::optional<std::int64_t>(const std::string& body)> expiry{};
  /// Only for stores that cannot remove at a revision (S3): how long a tombstone stays before its
  /// final removal; nullopt: for ever. Set it only if each key is used for one record: created if
  /// absent, renewed at its revision, and never made again. TtlRecord keeps that rule.
  std::optional<Duration> sweep_after{};
};

/// Counts so far.
struct TtlMetrics {
  std::uint64_t examined = 0;
  std::uint64_t removed = 0;     ///< Including tombstones written.
  std::uint64_t kept = 0;        ///< Not expired, without an expiry, or already gone.
  std::uint64_t conflicts = 0;   ///< Renewed between read and removal, and so kept.
  std::uint64_t swept = 0;       ///< Tombstones removed for good.
  std::uint64_t unresolved = 0;  ///< The store gave no clear answer; the next pass retries.
  std::uint64_t passes = 0;      ///< Times that the end of the prefix was reached.
};

/// Removes expired records under a prefix while its coordinator leads, and never a renewed one:
/// every removal is a compare-and-swap at the revision whose expiry was read. Records expire by the
/// leader's wall clock.
///
/// Threads: any. TtlOptions::expiry is called on the callback thread.
class MUSTER_EXPORT Ttl {
 public:
  [[nodiscard]] static Result<Ttl> start(const GlobalCoordinator& coordinator, TtlOptions options);
  Ttl(Ttl&&) noexcept;
  Ttl& operator=(Ttl&&) noexcept;
  ~Ttl();

  [[nodiscard]] TtlMetrics metrics() const;
  /// kInvalid in a callback. A second call has no effect.
  Status stop();

 private:
  explicit Ttl(std::shared_ptr<muster::api::TtlCore> core);
  std::shared_ptr<muster::api::TtlCore> core_;
};

/// One record with an expiry: a JSON object, under a key that is used once, with one writer. It
/// needs no coordinator. Destroying the object leaves the record, which expires by itself.
///
/// Threads: one at a time. Calls wait for the store, at most 5 s for each of their requests.
class MUSTER_EXPORT TtlRecord {
 public:
  /// Creates the key `prefix` plus a UUID. `fields` is a JSON object; `_expiresAt` and `nonce` are
  /// added. kAmbiguous: the record may exist; it expires by itself.
  [[nodiscard]] static Result<TtlRecord> create(const Arbiter& arbiter, const std::string& prefix,
                                                const std::string& fields, Duration ttl);
  TtlRecord(TtlRecord&&) noexcept;
  TtlRecord& operator=(TtlRecord&&) noexcept;
  ~TtlRecord();

  /// Moves the expiry to `ttl` from now. kNotFound: the record was removed; create another.
  /// kConflict: another process wrote the record. kAmbiguous, kUnavailable: try again.
  [[nodiscard]] Status renew(Duration ttl);
  /// Likewise, with new fields.
  [[nodiscard]] Status renew(Duration ttl, const std::string& fields);
  [[nodiscard]] std::string key() const;

 private:
  explicit TtlRecord(std::shared_ptr<muster::api::TtlRecordCore> core);
  std::shared_ptr<muster::api::TtlRecordCore> core_;
};

MUSTER_END_NAMESPACE
