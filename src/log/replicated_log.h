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

/// An entry that every replica applies. The views are valid during apply() only.
struct AcceptedEntry {
  Index index;
  Epoch epoch;
  const Incarnation& incarnation;
  LogTime time;   ///< Never falls.
  WallTime wall;  ///< What people call that time.
  EntryKind kind;
  std::span<const std::string_view> commands;  ///< Empty in a barrier and in a seal.
};

/// A consistent image of the state as it was when the reader was made, handed out piece by piece
/// while apply() goes on.
class SnapshotReader {
 public:
  virtual ~SnapshotReader() = default;
  /// The next part, at most kPartBytesMax long and never empty; nothing after the last one.
  virtual std::optional<std::string> next_part() = 0;
};

/// Takes an image in, part by part. The state changes in one step at finish(), or not at all when
/// the loader is dropped before.
class SnapshotLoader {
 public:
  virtual ~SnapshotLoader() = default;
  virtual Status part(std::string_view bytes) = 0;
  virtual Status finish() = 0;
};

/// What the log is the log of. Called on the log's loop only.
class StateMachine {
 public:
  virtual ~StateMachine() = default;
  /// Must depend on nothing but the state and the entry. Any error stops the replica for good:
  /// kUnsupported is a command that this version does not know.
  virtual Status apply(const AcceptedEntry& entry) = 0;
  virtual std::unique_ptr<SnapshotReader> snapshot() = 0;
  virtual std::unique_ptr<SnapshotLoader> load() = 0;
};

/// Stores take at least this much in one object (etcd's request limit is 1.5 MB).
inline constexpr std::size_t kPartBytesMax = 1024 * 1024;

struct Options {
  std::string prefix;  ///< Of every key: empty, or ending in '/'.
  /// Makes the log when there is none. Never over the remains of one.
  bool create = false;
  /// When set, any other log is refused, and none is ever made.
  std::string log_id;
  /// The name of the cluster: a log that is made gets it, and one of another name is refused. A log
  /// without a name gets it from a replica that knows the log by `log_id`. None: not compared.
  std::optional<std::string> cluster{};
  Duration request_timeout = 3s;
  /// How long an append may stay unsettled before its clients hear UNKNOWN and the term ends.
  Duration give_up_after = 10s;
  Duration retry_wait = 100ms;
  /// How often a follower looks where the store cannot push, and, at a tenth of that rate, where
  /// it can.
  Duration poll_interval = 500ms;
  std::size_t entry_bytes_max = 512 * 1024;
  /// Commands that wait beyond this are refused with kThrottled.
  std::size_t waiting_bytes_max = 16 * 1024 * 1024;
  /// The leader compacts by itself after so many entries or bytes since the last snapshot.
  std::uint64_t compact_after_entries = 10'000;
  std::uint64_t compact_after_bytes = 64 * 1024 * 1024;
  /// Loads the older of the two kept snapshots: the way back when a part of the newer one is
  /// damaged.
  bool use_previous_snapshot = false;
};

/// Where a log is or shall be.
struct Place {
  ObjectStore& store;
  std::string prefix;
  Duration request_timeout = 3s;
};

/// Another leader's entry was accepted, or an append had to be given up: the term is over.
struct Deposed {
  Epoch ended;  ///< The term's: this is told later, and another term may have begun.
  Epoch by;     ///< The higher epoch, or 0 when none was seen.
  std::string reason;
};
/// The replica does nothing more. kCorrupt: bytes in the store are wrong, and the message names
/// the object. kUnsupported: written by a newer version. kConflict: another log, or one that went
/// back in time.
struct Stopped {
  Error reason;
};
struct Compacted {
  Index index;
  Index floor;
};
/// A compaction that the log began by itself could not be finished; it will try again. Entries and
/// the time to open grow meanwhile.
struct CompactionFailed {
  Error reason;
};
/// The state was replaced by a snapshot: whoever watches it must start anew.
struct Reloaded {
  Index index;
};
/// The log goes on in another store.
struct Sealed {
  Seal seal;
};
/// Opening waits for the store, which fails or refuses. Told once for each new reason.
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

/// One replica of a log kept in a store: numbered entries, each created once, on top of a
/// snapshot. Any number of replicas share it; at most one leads at a time.
///
/// Guarantees: all replicas apply the same entries in the same order. A command acknowledged is in
/// that order for ever. A command answered with kConflict is not and will never be. After
/// read_barrier() the state holds everything that was acknowledged anywhere before the call.
///
/// Does not guarantee that a command answered with kAmbiguous was or was not applied: commands that
/// must not run twice carry an identity of their own. Does not elect: whoever calls lead() must
/// bring an epoch that nobody else has; a replica with a lower one finds its number taken.
///
/// The store must have passed probe_store(): on one that ignores conditions nothing above holds.
///
/// Loop thread only. Callbacks are called on the loop and may call back into the log, but must not
/// destroy it; none is called after it is destroyed.
class ReplicatedLog {
 public:
  ReplicatedLog(Options options, Surroundings surroundings);
  ~ReplicatedLog();
  ReplicatedLog(const ReplicatedLog&) = delete;
  ReplicatedLog& operator=(const ReplicatedLog&) = delete;

  /// Reads the manifest (or makes it), loads the snapshot, applies what follows, and goes on doing
  /// so. An unreachable store is tried again without end; any error is final, and Stopped, too.
  void open(Callback<Done> done);

  /// Begins a term: writes a barrier and answers when it has been applied. kConflict: a higher
  /// epoch is in the log. kAmbiguous: gave up.
  void lead(Epoch epoch, Incarnation incarnation, Callback<Done> done);
  /// After lead(), while the term lasts. Everything that waits goes into the next entry; one entry
  /// is in flight. Answers right after StateMachine::apply of that entry.
  ///   kConflict     FAILED: certainly not applied, now or later
  ///   kAmbiguous    UNKNOWN: applied, not applied, or applied later
  ///   kUnavailable  not leading: never sent
  ///   kThrottled    too much is waiting: never sent
  ///   kInvalid      longer than an entry may be: never sent
  void append(std::string command, Callback<Ack> done);
  /// Ends the term: what was not sent is refused, what is in flight is settled, then `done`.
  void retire(Callback<Done> done);
  [[nodiscard]] bool leads() const;

  /// Answers when everything acknowledged before this call has been applied here. One check serves
  /// all who wait. kUnavailable when the store did not answer within `give_up_after`, and when the
  /// log is sealed: it goes on elsewhere.
  void read_barrier(Callback<Index> done);

  [[nodiscard]] Index applied() const;
  /// The highest number known to exist.
  [[nodiscard]] Index head_seen() const;
  [[nodiscard]] const Position& position() const;
  /// When this replica last knew that nothing newer existed. What it serves is no older than this.
  [[nodiscard]] MonoTime last_contact() const;
  /// Since when the store has been asked and has not answered; none while it owes no answer.
  [[nodiscard]] std::optional<MonoTime> unanswered_since() const;
  [[nodiscard]] const std::string& log_id() const;

  /// Snapshot, manifest, floor, deletion; answers with the snapshot's index. Any replica may.
  /// kConflict: another's snapshot is as new. kUnavailable: could not be finished; nothing that
  /// anybody needs was deleted, and the next one sweeps up. kInvalid: the state handed out a part
  /// of a forbidden size.
  void compact(Callback<Index> done);

  /// Writes the seal that names this move and ends the term; the copying is move.h's.
  void seal(Seal seal, Callback<Index> done);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::rlog
