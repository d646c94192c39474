#pragma once

#include <functional>
#include <memory>
#include <string>

#include "log/replicated_log.h"

namespace muster::rlog {

/// Moves a log to another store (rule L9). In order:
///
///   prepare()                       the target is marked as pending for this move
///   ReplicatedLog::seal()           the leader's last entry; being accepted decides the move
///   finish()                        copies up to the seal and opens the target
///
/// Before the seal is accepted, nothing has changed and the move may be abandoned. Afterwards any
/// process may repeat finish(), also after a crash, until it succeeds. The log keeps its id, its
/// numbers and its epochs, so a leader in the target needs an epoch above the last one here.
/// Threads: loop thread only.
class Move {
 public:
  Move(Loop& loop, Random random, Place source, Place target, std::string move_id);
  ~Move();

  void prepare(Callback<Done> done);
  /// kUnavailable: try again. kConflict: the seal is another move's, or there is none.
  void finish(Callback<Done> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a whole log as one stream of bytes (docs/formats.md has the format). An error of `sink`
/// ends it. Returns the number of the last entry.
class Backup {
 public:
  using Sink = std::function<Status(std::string_view bytes)>;
  Backup(Loop& loop, Random random, Place source, Sink sink);
  ~Backup();
  void start(Callback<Index> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Fills an empty store from a backup. The log gets a new id, so that no replica of the old log
/// accepts it: it may lack writes acknowledged after the backup.
class Restore {
 public:
  /// Returns up to `bytes` bytes of the backup; empty at its end.
  using Source = std::function<Result<std::string>(std::size_t bytes)>;
  Restore(Loop& loop, Random random, Place target, Source source);
  ~Restore();
  /// kCorrupt if the backup is damaged or cut off; the store then stays pending, never opened.
  void start(Callback<Index> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::rlog
