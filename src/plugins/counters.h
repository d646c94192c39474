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
  /// Pages of adds that one round folds; the next round continues where it ended.
  std::size_t pages_max = 8;
  /// A lane that leaders, one after another, have seen silent for this long is forgotten; after
  /// half of it, its writer no longer uses it. No write may arrive later than half of it after it
  /// was sent.
  Duration lane_retention = 1h;
};

/// Counters to which many processes add; the leader sums them up. An add is one new object and
/// never waits; the leader folds adds into the total by one compare-and-swap, which also records up
/// to where each lane has been folded, and removes them afterwards. So an add counts exactly once,
/// whichever process dies at any step, even if a request arrives twice or two leaders are at work.
///
/// Not guaranteed: that consolidated() includes the latest adds. A lower epoch never changes a
/// total written at a higher one. Threads: any may add and read.
class Counters final : public CoordinatorPlugin {
 public:
  explicit Counters(SyncStore& store, CounterOptions options = {})
      : Counters(store, store.clock(), system_random(), std::move(options)) {}
  /// With an explicit clock and source of randomness.
  Counters(SyncStore& store, const Clock& clock, Random random, CounterOptions options = {});

  [[nodiscard]] std::string name() const override { return "counters"; }
  void on_become_coordinator(const LeaseGuard& guard) override;
  void coordinator_work(const LeaseGuard& guard) override;
  [[nodiscard]] Duration work_interval() const override { return options_.fold_interval; }

  /// kAmbiguous, kThrottled: the add counts once or not at all; any other error: not at all.
  [[nodiscard]] Status add(const std::string& counter, std::int64_t amount)
      MUSTER_EXCLUDES(lanes_mutex_);
  /// The total at the last fold: one request. 0 if there was none.
  [[nodiscard]] Result<std::int64_t> consolidated(const std::string& counter);
  /// The total with every add that ended before this call. kUnavailable if the leader folds faster
  /// than this can read.
  [[nodiscard]] Result<std::int64_t> read(const std::string& counter);

 private:
  struct Lane {
    std::string id;
    std::uint64_t number;  ///< Of the next add.
    MonoTime used;
  };
  struct FoundTotal {
    counters::Total total;
    Precondition unchanged;  ///< Holds while the total is as it was read.
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
