#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "coordinator/plugin.h"
#include "core/election/lease.h"
#include "elector/nonces.h"
#include "elector/sync_store.h"
#include "platform/system_clock.h"
#include "plugins/counter_records.h"

namespace muster {

struct CounterOptions {
  std::string name_space = "default";
  Duration fold_interval = 5s;
  /// How many pages of adds one round folds; the next goes on where it ended.
  std::size_t pages_max = 8;
  /// A lane that was silent for so long, as leaders one after another have seen it, is forgotten,
  /// and after half of it not used again by its writer. No write may arrive later than half of it
  /// after it was sent.
  Duration lane_retention = 1h;
};

/// Counters that many add to and the leader sums up. An add is one new object and waits for
/// nobody; the leader folds adds into the total by one compare-and-swap, which also records up to
/// where each lane has been folded, and removes them afterwards. So an add counts exactly once,
/// whichever process dies at any step, whatever arrives twice, and with two leaders at work.
///
/// Not guaranteed: that consolidated() knows the latest adds. A total written at a higher epoch is
/// not touched by a lower one. Adds and reads: any thread.
class Counters final : public CoordinatorPlugin {
 public:
  explicit Counters(SyncStore& store, CounterOptions options = {})
      : Counters(store, store.clock(), system_random(), std::move(options)) {}
  /// Told the time, and what is left to chance.
  Counters(SyncStore& store, const Clock& clock, Random random, CounterOptions options = {});

  [[nodiscard]] std::string name() const override { return "counters"; }
  void on_become_coordinator(const LeaseGuard& guard) override;
  void coordinator_work(const LeaseGuard& guard) override;
  [[nodiscard]] Duration work_interval() const override { return options_.fold_interval; }

  /// kAmbiguous, kThrottled: it counts once or not at all; any other error: not at all.
  [[nodiscard]] Status add(const std::string& counter, std::int64_t amount)
      MUSTER_EXCLUDES(lanes_mutex_);
  /// The total as last folded: one request. 0 when nothing was.
  [[nodiscard]] Result<std::int64_t> consolidated(const std::string& counter);
  /// Every add that ended before this call, folded or not. kUnavailable when the leader folds
  /// faster than this can read.
  [[nodiscard]] Result<std::int64_t> read(const std::string& counter);

 private:
  struct Lane {
    std::string id;
    std::uint64_t number;  ///< Of the next add.
    MonoTime used;
  };
  struct FoundTotal {
    counters::Total total;
    Precondition unchanged;  ///< Holds while the total is as it was found.
  };
  using Deltas = std::vector<std::pair<Key, counters::Delta>>;

  [[nodiscard]] Lane take_lane(const std::string& counter) MUSTER_EXCLUDES(lanes_mutex_);
  void return_lane(const std::string& counter, Lane lane) MUSTER_EXCLUDES(lanes_mutex_);
  [[nodiscard]] Result<FoundTotal> find(const std::string& counter);
  [[nodiscard]] Status fold(const LeaseGuard& guard, const std::string& counter,
                            const Deltas& deltas);
  [[nodiscard]] Result<bool> apply(const Deltas& deltas, counters::Total& total) const;
  [[nodiscard]] bool forget_lanes(const LeaseGuard& guard, const std::string& counter,
                                  counters::Total& total);
  [[nodiscard]] bool is_swept(const std::string& counter, const std::string& lane);
  [[nodiscard]] Status sweep(const LeaseGuard& guard, const Deltas& deltas,
                             const counters::Total& total);

  SyncStore& store_;
  const Clock& clock_;
  Nonces nonces_;
  const CounterOptions options_;
  const counters::Keys keys_;

  // The leader's own, on the thread of the callbacks.
  std::string cursor_;
  struct Silence {
    std::uint64_t folded;
    Duration before;  ///< As an earlier leader had seen it.
    MonoTime since;   ///< From when on this one has.
  };
  std::map<std::pair<std::string, std::string>, Silence> silent_lanes_;

  Mutex lanes_mutex_;
  std::map<std::string, std::vector<Lane>> lanes_ MUSTER_GUARDED_BY(lanes_mutex_);
};

}  // namespace muster
