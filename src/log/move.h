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
/// Before the seal is in, nothing has changed for anybody and the move may be forgotten. After it,
/// finish() may be repeated by anyone, also after a crash, until it succeeds. The log keeps its id,
/// its numbers and its epochs, so a leader there needs an epoch above the last one here.
/// Loop thread only.
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

/// A whole log as one stream of bytes: docs/formats.md has the format. What `sink` refuses ends it.
/// Answers with the number of the last entry in it.
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

/// Fills an empty store from a backup. The log gets a new id, so that no replica of the old one
/// takes it for its own: it may lack what was acknowledged after the backup.
class Restore {
 public:
  /// Up to so many bytes of the backup; empty at its end.
  using Source = std::function<Result<std::string>(std::size_t bytes)>;
  Restore(Loop& loop, Random random, Place target, Source source);
  ~Restore();
  /// kCorrupt when the backup is damaged or cut off; the store is then left pending, never open.
  void start(Callback<Index> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::rlog
