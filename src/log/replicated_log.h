#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/loop.h"
#include "base/random.h"
#include "core/log/entry.h"
#include "store/store.h"

namespace muster::rlog {

/// An entry that every replica applies. The views are valid only during apply().
struct AcceptedEntry {
  Index index;
  Epoch epoch;
  const Incarnation& incarnation;
  LogTime time;   ///< Never falls.
  WallTime wall;  ///< The label of that time for people.
  EntryKind kind;
  std::span<const std::string_view> commands;  ///< Empty in a barrier and in a seal.
};

/// A consistent image of the state at the moment when the reader was made. It is read piece by
/// piece while apply() goes on.
class SnapshotReader {
 public:
  virtual ~SnapshotReader() = default;
  /// The next part, at most kPartBytesMax long and never empty; nothing after the last one.
  virtual std::optional<std::string> next_part() = 0;
};

/// Accepts an image, part by part. The state changes in one step at finish(), or not at all if the
/// loader is dropped before.
class SnapshotLoader {
 public:
  virtual ~SnapshotLoader() = default;
  virtual Status part(std::string_view bytes) = 0;
  virtual Status finish() = 0;
};

/// The state that the log replicates. Called only on the log's loop.
class StateMachine {
 public:
  virtual ~StateMachine() = default;
  /// Must depend only on the state and the entry. Any error stops the replica for good;
  /// kUnsupported means a command that this version does not know.
  virtual Status apply(const AcceptedEntry& entry) = 0;
  virtual std::unique_ptr<SnapshotReader> snapshot() = 0;
  virtual std::unique_ptr<SnapshotLoader> load() = 0;
};

/// Every store accepts at least this much in one object (etcd's request limit is 1.5 MB).
inline constexpr std::size_t kPartBytesMax = 1024 * 1024;

struct Options {
  std::string prefix;  ///< Of every key: empty, or ends with '/'.
  /// Creates the log if there is none. Never over the remains of a log.
  bool create = false;
  /// If set, any other log is refused, and none is created.
  std::string log_id;
  /// The name of the cluster. A new log gets it; a log with another name is refused. An unnamed log
  /// gets it from a replica that knows the log by `log_id`. None: not compared.
  std::optional<std::string> cluster{};
  Duration request_timeout = 3s;
  /// After this time an unsettled append is UNKNOWN to its clients, and the term ends.
  Duration give_up_after = 10s;
  Duration retry_wait = 100ms;
  /// How often a follower reads if the store cannot push and, at a tenth of that rate, if it
  /// can.
  Duration poll_interval = 500ms;
  std::size_t entry_bytes_max = 512 * 1024;
  /// Commands beyond this number of waiting bytes are refused with kThrottled.
  std::size_t waiting_bytes_max = 16 * 1024 * 1024;
  /// The leader compacts after this many entries or bytes since the last snapshot.
  std::uint64_t compact_after_entries = 10'000;
  std::uint64_t compact_after_bytes = 64 * 1024 * 1024;
  /// Loads the older of the two kept snapshots: the remedy if a part of the newer one is
  /// damaged.
  bool use_previous_snapshot = false;
};

/// The location of a log.
struct Place {
  ObjectStore& store;
  std::string prefix;
  Duration request_timeout = 3s;
};

/// Another leader's entry was accepted, or an append was given up: the term is over.
struct Deposed {
  Epoch ended;  ///< The term's epoch: by now another term may have begun.
  Epoch by;     ///< The higher epoch, or 0 if none was seen.
  std::string reason;
};
/// The replica has stopped. kCorrupt: bytes in the store are wrong, and the message names the
/// object. kUnsupported: a newer version wrote it. kConflict: another log, or one that went back in
/// time.
struct Stopped {
  Error reason;
};
struct Compacted {
  Index index;
  Index floor;
};
/// A compaction that the log began by itself failed; it will be retried. Until then the number of
/// entries and the time to open grow.
struct CompactionFailed {
  Error reason;
};
/// A snapshot replaced the state: watchers must start anew.
struct Reloaded {
  Index index;
};
/// The log continues in another store.
struct Sealed {
  Seal seal;
};
/// Opening waits for a store that fails or refuses. Reported once for each new reason.
struct Delayed {
  Error reason;
};
using Event =
    std::variant<Deposed, Stopped, Compacted, CompactionFailed, Reloaded, Sealed, Delayed>;

struct Surroundings {
  Loop& loop;
  ObjectStore& store;
  Random random;
  StateMachine& machine;
  std::function<void(const Event&)> listener;
};

struct Ack {
  Index index;
  std::size_t position;  ///< Of the command within its entry.
};

/// One replica of a log kept in a store: numbered entries, each created once, on top of a snapshot.
/// Any number of replicas share it; at most one leads at a time.
///
/// Guarantees: all replicas apply the same entries in the same order. An acknowledged command is in
/// that order for ever. A command answered with kConflict is not in it and never will be. After
/// read_barrier() the state holds everything that was acknowledged anywhere before the call.
///
/// Not guaranteed: whether a command answered with kAmbiguous was applied. Commands that must not
/// run twice need an identity of their own. Elections: the caller of lead() must bring an epoch
/// that no other replica has; a replica with a lower epoch finds its number taken.
///
/// Requires: the store passed probe_store(); with a store that ignores conditions, nothing holds.
///
/// Threads: loop thread only. Callbacks run on the loop and may call the log, but must not destroy
/// it; none is called after its destruction.
class ReplicatedLog {
 public:
  ReplicatedLog(Options options, Surroundings surroundings);
  ~ReplicatedLog();
  ReplicatedLog(const ReplicatedLog&) = delete;
  ReplicatedLog& operator=(const ReplicatedLog&) = delete;

  /// Reads the manifest (or creates it), loads the snapshot, applies the following entries, and
  /// goes on doing so. Retries an unreachable store without end; any error is final, as is Stopped.
  void open(Callback<Done> done);

  /// Begins a term: writes a barrier and answers when it was applied. kConflict: the log has a
  /// higher epoch. kAmbiguous: gave up.
  void lead(Epoch epoch, Incarnation incarnation, Callback<Done> done);
  /// After lead(), while the term lasts. Everything that waits goes into the next entry; one entry
  /// is in flight. Answers right after StateMachine::apply of that entry.
  ///   kConflict     FAILED: certainly not applied, now or later
  ///   kAmbiguous    UNKNOWN: applied, not applied, or applied later
  ///   kUnavailable  not leading: never sent
  ///   kThrottled    too much is waiting: never sent
  ///   kInvalid      longer than an entry may be: never sent
  void append(std::string command, Callback<Ack> done);
  /// Ends the term: refuses unsent commands, settles those in flight, then calls `done`.
  void retire(Callback<Done> done);
  [[nodiscard]] bool leads() const;

  /// Answers when everything acknowledged before this call has been applied here. One check serves
  /// all waiting callers. kUnavailable if the store did not answer within `give_up_after`, or if
  /// the log is sealed and continues elsewhere.
  void read_barrier(Callback<Index> done);

  [[nodiscard]] Index applied() const;
  /// The highest number known to exist.
  [[nodiscard]] Index head_seen() const;
  [[nodiscard]] const Position& position() const;
  /// When this replica last knew that nothing newer existed: the maximum age of its answers.
  [[nodiscard]] MonoTime last_contact() const;
  /// Since when a request to the store has been unanswered; none while there is no such request.
  [[nodiscard]] std::optional<MonoTime> unanswered_since() const;
  [[nodiscard]] const std::string& log_id() const;

  /// Makes a snapshot, swaps the manifest, raises the floor, deletes; answers with the snapshot's
  /// index. Any replica may do so. kConflict: another snapshot is as new. kUnavailable: unfinished;
  /// nothing needed was deleted, and the next compaction cleans up. kInvalid: the state returned a
  /// part of a forbidden size.
  void compact(Callback<Index> done);

  /// Writes the seal that names this move and ends the term; move.h does the copying.
  void seal(Seal seal, Callback<Index> done);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::rlog
