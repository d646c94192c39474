#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "log/move.h"
#include "server/state/replica.h"
#include "store/store.h"

namespace muster::server {

/// Opens the engine at an address.
using OpenEngine = std::function<Result<std::unique_ptr<ObjectStore>>(const std::string& url)>;

/// Moves the servers' log to another engine, and finishes a move that a crash interrupted.
///
/// Until the seal is in the log nothing has changed for anybody. From then on the move is decided,
/// and whoever finds the log sealed can finish it: nothing acknowledged is left behind.
/// Loop thread only.
class LogMover {
 public:
  struct Surroundings {
    Loop& loop;
    ObjectStore& store;  ///< Which the log is moved from.
    OpenEngine open_engine;
    Replica& replica;
    Random random;
    Duration request_timeout;
  };
  explicit LogMover(Surroundings surroundings);
  ~LogMover();

  /// From the moment when a seal may have been sent until the end.
  [[nodiscard]] bool sealing() const { return sealing_; }

  /// Only where the log is led. Answers with the number of the last entry here, when everything is
  /// there. kInvalid and kConflict: the target is no good, and nothing has changed. kAmbiguous: it
  /// may have been decided.
  void start(const std::string& target, Callback<rlog::Index> done);
  /// The log was found sealed: sees to it that the target has it. Tries until it does, or cannot.
  void finish(const rlog::Seal& seal, Callback<Done> done);

 private:
  Status open(const std::string& target, const std::string& id);
  void prepared(const rlog::Seal& seal);
  void copy(Callback<Done> done);
  void end(Result<rlog::Index> result);

  Surroundings surroundings_;
  std::unique_ptr<ObjectStore> target_;
  std::unique_ptr<rlog::Move> move_;
  Callback<rlog::Index> done_;  ///< Set while start() is under way.
  bool sealing_ = false;
  Timer retry_;
  Lifetime lifetime_;
};

/// What a server of an engine that was left has to say.
[[nodiscard]] Error moved_to(const std::string& target);

}  // namespace muster::server
