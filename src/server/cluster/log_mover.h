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
/// Until the seal is in the log nothing has changed for anybody. From then on the move is decided,
/// and any server that finds it sealed can finish: nothing acknowledged is left behind. Until the
/// target is open, every server stays: it may be needed to copy, or, where the servers run their
/// engine themselves, to read what is copied. Loop thread only.
class LogMover {
 public:
  struct Surroundings {
    Loop& loop;
    ObjectStore& store;  ///< Which the log is moved from.
    OpenEngine open_engine;
    ReplicatedState& replica;
    Random random;
    Duration request_timeout;
    /// Whether another server is at the copying now.
    std::function<void(std::function<void(bool copying)>)> ask_others;
    /// Whether every other server sees the mark of this move, or which one does not.
    std::function<void(const rlog::Seal&, Callback<Done>)> seen_by_others;
    /// The engine is the servers' own: who leaves takes a part of it along.
    bool engine_needs_servers = false;
  };
  explicit LogMover(Surroundings surroundings);
  ~LogMover();

  /// From the moment when a seal may have been sent until the end.
  [[nodiscard]] bool sealing() const { return sealing_; }
  /// At the copying, or about to be.
  [[nodiscard]] bool copying() const { return copying_; }

  /// Only where the log is led. Answers with the number of the last entry here, when everything is
  /// there. kInvalid and kConflict: the target is no good, and nothing has changed. kAmbiguous: it
  /// may have been decided.
  void start(const std::string& target, Callback<rlog::Index> done);
  /// Another server is about to move the log there: whether what it wrote is seen from here.
  void sees_mark(const rlog::Seal& seal, Callback<Done> done);
  /// The log was found sealed: answers when the target has all of it. Copies when no other server
  /// does. Tries until it is done, or cannot be.
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

/// What a server of an engine that was left has to say,
[[nodiscard]] Error moved_to(const std::string& target);
/// and what it says before everything is there.
[[nodiscard]] std::string moving_to(const std::string& target);

}  // namespace muster::server
