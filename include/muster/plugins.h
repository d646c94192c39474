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
/// opened on a GlobalCoordinator, whose namespace it takes, and does its leader's part while that
/// leads.
///
/// Their handles may outlive the coordinator, which then is not led here any more; what asks the
/// store alone goes on. Destroying a handle is stop(): no callback runs afterwards. In a callback
/// it does not wait for those under way.
///
/// Moments are in milliseconds since 1970.
MUSTER_BEGIN_NAMESPACE

/// What happens to runs whose time came while nobody led, or while the clock jumped over it.
enum class MissedRuns : int {
  kSkip = 0,     ///< Dropped.
  kRunOnce = 1,  ///< One run, for the latest of them.
  kRunAll = 2,   ///< Each of them in order, the latest run_all_max.
};

/// What happens to a run that was claimed by a leader which then never reported its end.
enum class InterruptedRuns : int {
  kSkip = 0,   ///< It may have run, so it is not run again.
  kRerun = 1,  ///< It is run again, at most twice: at least once instead of at most once.
};

/// One run of a job. What it writes outside carries lease.token(); a long one asks the lease again
/// before each effect.
struct ScheduledRun {
  std::string job;
  std::int64_t due;       ///< The moment that the schedule names.
  std::uint64_t attempt;  ///< Above 1: an earlier one was interrupted.
  const Lease& lease;     ///< Lives until the run returns.
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
  /// A run that starts later than this counts as missed. Longer than a change of leaders takes.
  Duration tolerance = Duration(60'000'000'000);
};

/// What a scheduler has done so far.
struct SchedulerMetrics {
  std::uint64_t started = 0;
  std::uint64_t failed = 0;       ///< Threw.
  std::uint64_t interrupted = 0;  ///< Found claimed and without an end.
  std::uint64_t dropped = 0;      ///< Stretches of missed runs that the policy left out.
  std::uint64_t returned = 0;     ///< Claimed, but the term was to end before the start.
  std::uint64_t refused = 0;      ///< Times that a higher token had been here.
};

/// Runs jobs by the calendar, in the process that leads, each due time at most once for all leaders
/// and whatever the clocks do: a due time is claimed in the store by compare-and-swap before it is
/// run. Exactly once, unless the leader dies between claim and end (InterruptedRuns) or the time
/// was missed (MissedRuns). A new or changed job begins with its next due time.
///
/// No run is started once the term is to end or a higher token is known. A run that is under way
/// then is not stopped and holds up a hand-over: it asks lease.stopping().
///
/// Threads: any. Runs come on the callback thread, one at a time.
class MUSTER_EXPORT Scheduler {
 public:
  /// kInvalid, or kNotFound for a time zone, names the job and what is wrong with it.
  [[nodiscard]] static Result<Scheduler> start(const GlobalCoordinator& coordinator,
                                               std::vector<ScheduledJob> jobs);
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  [[nodiscard]] SchedulerMetrics metrics() const;
  /// Waits for the run under way. kInvalid in a callback. Again: nothing.
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
  /// How many messages one round looks at, how many tickets are out at a time, and how many objects
  /// one round may change.
  std::size_t window_max = 1000;
  std::size_t tickets_max = 100;
  std::size_t changes_max = 500;
  /// How long the mark of a finished message stays. No write may arrive later than this after it
  /// was sent, or a message enqueued twice by the network may run twice.
  Duration tombstone_retention = Duration(60'000'000'000);
  double drift = 0.16;  ///< How far the rates of two clocks may differ.
};

/// A message in the hands of one worker. One that is destroyed without acknowledge() or fail() is
/// free for others after the visibility timeout.
///
/// Threads: one at a time; valid() and left(): any.
class MUSTER_EXPORT QueueClaim {
 public:
  QueueClaim(QueueClaim&&) noexcept;
  QueueClaim& operator=(QueueClaim&&) noexcept;
  ~QueueClaim();

  [[nodiscard]] std::string id() const;
  [[nodiscard]] std::string payload() const;
  /// 1 the first time.
  [[nodiscard]] unsigned attempt() const;
  /// May the message still be run? Turns false before anybody else may claim it.
  [[nodiscard]] bool valid() const;
  [[nodiscard]] Duration left() const;

  /// Another visibility timeout from now. kConflict: the claim was lost.
  [[nodiscard]] Status extend();
  /// The message is done. kConflict: the claim was lost, and another runs it again.
  [[nodiscard]] Status acknowledge();
  /// The message is to be tried again, or is dead.
  [[nodiscard]] Status fail(const std::string& reason);

 private:
  friend class Queue;
  explicit QueueClaim(std::shared_ptr<muster::api::ClaimCore> core);
  std::shared_ptr<muster::api::ClaimCore> core_;
};

/// A message that was tried too often.
struct DeadLetter {
  std::string id{};
  std::string payload{};
  unsigned attempts = 0;
  std::string reason{};  ///< Of the last failure; at most 1024 bytes.
  std::int64_t died_at = 0;
  std::string name{};  ///< Of the letter itself, for discard().
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
  /// For processes that only enqueue: claim() is refused with kInvalid.
  [[nodiscard]] static Result<Queue> open(const Arbiter& arbiter, const std::string& name_space,
                                          QueueOptions options = {});
  Queue(Queue&&) noexcept;
  Queue& operator=(Queue&&) noexcept;
  ~Queue();

  /// Returns the message's id. The payload is UTF-8. After kAmbiguous, or any doubt, call it again
  /// with the same `id`: one message comes of it, also when it has been run meanwhile. So an id is
  /// for one message: another one under it counts as the first, or is refused with kConflict.
  [[nodiscard]] Result<std::string> enqueue(const std::string& payload, const std::string& id = {});
  /// An id that sorts about by time, for a caller that wants to know it before enqueue().
  [[nodiscard]] std::string new_id();

  /// The next message that may run; nullopt when there is none now.
  [[nodiscard]] Result<std::optional<QueueClaim>> claim();
  /// Claims one message, runs it, and acknowledges it, or fails it when `handler` returned an error
  /// or threw. False when there was none.
  [[nodiscard]] Result<bool> run_one(const std::function<Status(QueueClaim&)>& handler);

  [[nodiscard]] Result<std::vector<DeadLetter>> dead_letters();
  /// Removes a letter that dead_letters() told of. Gone already: success.
  [[nodiscard]] Status discard(const DeadLetter& letter);

  /// No longer does the leader's part. kInvalid in a callback. Again: nothing.
  Status stop();

 private:
  explicit Queue(std::shared_ptr<muster::api::QueueCore> core);
  std::shared_ptr<muster::api::QueueCore> core_;
};

struct CounterOptions {
  Duration fold_interval = Duration(5'000'000'000);  ///< Between two rounds of the leader.
  /// How many pages of adds one round folds; the next goes on where it ended.
  std::size_t pages_max = 8;
  /// How long leaders, one after another, remember a process that adds nothing. No write may arrive
  /// later than half of it after it was sent.
  Duration lane_retention = Duration(3'600'000'000'000);
};

/// Counters that many processes add to, without waiting for each other, and the leader sums up. An
/// add that succeeded counts exactly once, whichever process dies at any step, whatever arrives
/// twice, and with two leaders at work.
///
/// Not guaranteed: that consolidated() knows the latest adds.
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

  /// kAmbiguous, kThrottled: it counts once or not at all; any other error: not at all.
  [[nodiscard]] Status add(const std::string& counter, std::int64_t amount = 1);
  /// The total as last folded, by one request; 0 when nothing was.
  [[nodiscard]] Result<std::int64_t> consolidated(const std::string& counter);
  /// With every add that ended before this call. kUnavailable when the leader folds faster than
  /// this can read.
  [[nodiscard]] Result<std::int64_t> read(const std::string& counter);

  /// No longer does the leader's part. kInvalid in a callback. Again: nothing.
  Status stop();

 private:
  explicit Counters(std::shared_ptr<muster::api::CountersCore> core);
  std::shared_ptr<muster::api::CountersCore> core_;
};

/// What the plugin Ttl leaves in the place of a record where the store cannot remove at a revision.
/// Readers take it for "no such record". Any thread.
[[nodiscard]] MUSTER_EXPORT bool is_tombstone(const std::string& body);

struct TtlOptions {
  /// Records are what begins with it. Not empty, and not `plugin=…`, where coordinators are.
  std::string prefix{};
  std::size_t batch_max = 100;                   ///< Records looked at in one round, a read each.
  Duration interval = Duration(10'000'000'000);  ///< Between two rounds of the leader.
  Duration margin = Duration(0);                 ///< Kept this much longer, for clocks that differ.
  /// When a record with this body expires; nullopt: never. Empty: by its JSON field `_expiresAt`.
  std::function<std::optional<std::int64_t>(const std::string& body)> expiry{};
  /// Only for stores that cannot remove at a revision (S3): how long a tombstone stays before it is
  /// removed for good; nullopt: for ever. Set it only where a key is used for one record: created
  /// if absent, renewed at its revision, and never made again. TtlRecord keeps that rule.
  std::optional<Duration> sweep_after{};
};

/// What has been done so far.
struct TtlMetrics {
  std::uint64_t examined = 0;
  std::uint64_t removed = 0;     ///< Tombstones put in place count here.
  std::uint64_t kept = 0;        ///< Not expired, without an expiry, or already gone.
  std::uint64_t conflicts = 0;   ///< Renewed between read and removal, and so kept.
  std::uint64_t swept = 0;       ///< Tombstones removed for good.
  std::uint64_t unresolved = 0;  ///< The store gave no clear answer; the next pass sees to it.
  std::uint64_t passes = 0;      ///< Times that the end of the prefix was reached.
};

/// Removes expired records under a prefix while its coordinator leads, and never one that was
/// renewed: every removal is a compare-and-swap at the revision whose expiry was read. Expired
/// means by the leader's wall clock.
///
/// Threads: any. TtlOptions::expiry is called on the callback thread.
class MUSTER_EXPORT Ttl {
 public:
  [[nodiscard]] static Result<Ttl> start(const GlobalCoordinator& coordinator, TtlOptions options);
  Ttl(Ttl&&) noexcept;
  Ttl& operator=(Ttl&&) noexcept;
  ~Ttl();

  [[nodiscard]] TtlMetrics metrics() const;
  /// kInvalid in a callback. Again: nothing.
  Status stop();

 private:
  explicit Ttl(std::shared_ptr<muster::api::TtlCore> core);
  std::shared_ptr<muster::api::TtlCore> core_;
};

/// One record with an expiry: a JSON object, under a key that is used once, with one writer. It
/// needs no coordinator. Destroying it leaves the record, which expires by itself.
///
/// Threads: one at a time. Calls wait for the store, at most 5 s for each of their requests.
class MUSTER_EXPORT TtlRecord {
 public:
  /// Creates `prefix` and a UUID. `fields` is a JSON object, to which `_expiresAt` and `nonce` are
  /// added. kAmbiguous: the record may exist; it expires by itself.
  [[nodiscard]] static Result<TtlRecord> create(const Arbiter& arbiter, const std::string& prefix,
                                                const std::string& fields, Duration ttl);
  TtlRecord(TtlRecord&&) noexcept;
  TtlRecord& operator=(TtlRecord&&) noexcept;
  ~TtlRecord();

  /// Moves the expiry to `ttl` from now. kNotFound: it was removed and stays so; create another.
  /// kConflict: another process wrote the record. kAmbiguous, kUnavailable: try again.
  [[nodiscard]] Status renew(Duration ttl);
  /// As well with new fields.
  [[nodiscard]] Status renew(Duration ttl, const std::string& fields);
  [[nodiscard]] std::string key() const;

 private:
  explicit TtlRecord(std::shared_ptr<muster::api::TtlRecordCore> core);
  std::shared_ptr<muster::api::TtlRecordCore> core_;
};

MUSTER_END_NAMESPACE
