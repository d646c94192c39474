#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/loop.h"
#include "base/random.h"
#include "core/election/records.h"
#include "core/election/worker_tracker.h"
#include "store/store.h"

namespace muster {

/// The list of live workers. The leader lists the worker files a few times per worker timeout and
/// publishes the result with its renewals, so that followers need no list of their own. It also
/// sweeps files that have been silent for long, a few after each list. Threads: loop thread only.
class Roster {
 public:
  struct Options {
    WorkerId self;
    Duration worker_timeout = 20s;
    Duration request_timeout = 3s;
    Duration sweep_after = 200s;  ///< Silence after which a worker's file is removed.
  };
  struct Hooks {
    /// The live workers have changed. `appeared` and `timed_out` count for the metrics.
    std::function<void(std::size_t appeared, std::size_t timed_out)> on_change;
    std::function<void(const Error&)> on_error;
    /// The list also shows `control.json`, so a leader need not read it separately.
    std::function<void(const Revision&)> on_control{};
    /// The list shows this worker's own file, or none. `began` is when the list began.
    std::function<void(const std::optional<Revision>&, MonoTime began)> on_self{};
  };

  Roster(Loop& loop, ObjectStore& store, const NamespaceKeys& keys, Options options, Hooks hooks,
         Random random);

  /// Call with each heartbeat of a leader: lists if `interval` has passed since the last
  /// list.
  void beat(Duration interval);
  /// A term of this worker begins or ends: discards knowledge that becomes stale, and counts anew.
  void forget();
  /// Uses the list that a leader published; for followers.
  void adopt(const LeaderState& published);

  /// Sorted by bytes; always contains this worker itself.
  [[nodiscard]] const std::vector<WorkerId>& live() const { return live_; }
  /// The number of workers that fell silent since forget(), as seen in this worker's lists.
  [[nodiscard]] std::uint64_t timeouts() const { return timeouts_; }

 private:
  void listed(Result<ListPage> page);
  void refresh(std::size_t appeared, std::size_t timed_out);
  void sweep_next();
  void sweep(const WorkerTracker::Silent& file);
  void condemn(const WorkerTracker::Silent& file, const Object& object);

  Loop& loop_;
  ObjectStore& store_;
  const NamespaceKeys& keys_;
  Options options_;
  Hooks hooks_;
  Random random_;
  WorkerTracker tracker_;
  std::vector<WorkerId> live_;
  std::uint64_t timeouts_ = 0;
  /// The leadership that was adopted last, and what it had counted then.
  struct Adopted {
    Incarnation leader;
    Epoch epoch;
    std::uint64_t timeouts;
  };
  std::optional<Adopted> adopted_;
  std::map<WorkerId, Revision> condemned_;
  std::vector<WorkerTracker::Silent> doomed_;  ///< To be swept before the next list.
  std::optional<MonoTime> listed_at_;
  bool busy_ = false;
  Lifetime lifetime_;
};

}  // namespace muster
