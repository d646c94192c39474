#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "log/move.h"
#include "server/cluster/replicated_state.h"
#include "store/store.h"

namespace muster::server {

/// Opens the engine at an address.
using OpenEngine = std::function<Result<std::unique_ptr<ObjectStore>>(const std::string& url)>;

/// Moves the servers' log to another engine, and finishes a move that a crash interrupted.
///
/// Until the seal is in the log, nothing has changed. From then on the move is decided, and any
/// server that finds the seal can finish it: no acknowledged write is left behind. Until the target
/// is open, every server stays: it may be needed to copy or, if the servers run their engine
/// themselves, to read the source. Threads: loop thread only.
class LogMover {
 public:
  struct Surroundings {
    Loop& loop;
    ObjectStore& store;  ///< Which the log is moved from.
    OpenEngine open_engine;
    ReplicatedState& replica;
    Random random;
    Duration request_timeout;
    /// Whether another server is copying now.
    std::function<void(std::function<void(bool copying)>)> ask_others;
    /// Whether every other server sees the mark of this move, or which one does not.
    std::function<void(const rlog::Seal&, Callback<Done>)> seen_by_others;
    /// The engine is the servers' own: a server that leaves takes a part of it away.
    bool engine_needs_servers = false;
  };
  explicit LogMover(Surroundings surroundings);
  ~LogMover();

  /// From the moment when a seal may have been sent until the end.
  [[nodiscard]] bool sealing() const { return sealing_; }
  /// At the copying, or about to be.
  [[nodiscard]] bool copying() const { return copying_; }

  /// Requires that this server leads the log. Answers with the number of the last entry when
  /// everything is copied. kInvalid, kConflict: the target is unsuitable, and nothing has changed.
  /// kAmbiguous: the move may have been decided.
  void start(const std::string& target, Callback<rlog::Index> done);
  /// Another server is about to move the log there: whether this server sees what it wrote.
  void sees_mark(const rlog::Seal& seal, Callback<Done> done);
  /// The log was found sealed: answers when the target has all of it. Copies if no other server
  /// does. Retries until it is done, or cannot be.
  void finish(const rlog::Seal& seal, Callback<Done> done);

 private:
  Status open(const std::string& target, const std::string& id);
  void expect_empty(std::function<void()> then);
  void prepared(const rlog::Seal& seal);
  void seal(const rlog::Seal& seal);
  void look(const rlog::Seal& seal, Callback<Done> done);
  void look_later(const rlog::Seal& seal, Callback<Done> done);
  void cannot_see(const rlog::Seal& seal, const Error& why, Callback<Done> done);
  void copy(const rlog::Seal& seal, Callback<Done> done);
  void end(Result<rlog::Index> result);

  Surroundings surroundings_;
  std::unique_ptr<ObjectStore> target_;
  std::unique_ptr<rlog::Move> move_;
  Callback<rlog::Index> done_;  ///< Set while start() is under way.
  bool sealing_ = false;
  bool copying_ = false;
  Timer retry_;
  Lifetime lifetime_;
};

/// The error of a server whose engine was left,
[[nodiscard]] Error moved_to(const std::string& target);
/// and its error before everything is copied.
[[nodiscard]] std::string moving_to(const std::string& target);

}  // namespace muster::server
