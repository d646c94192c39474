#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "coordinator/events.h"
#include "coordinator/plugin.h"
#include "elector/lease_guard.h"

namespace muster {

/// Calls the plugins of one coordinator, and its listeners, on a loop of their own, so that none of
/// them can delay the heartbeat. It implements the guarantees of CoordinatorPlugin.
///
/// Public functions may be called from any thread and take effect in order; the rest runs on the
/// loop of the callbacks. The queue to that loop is bounded by its producers: a few entries for
/// each change of term and each event.
class PluginHost : public std::enable_shared_from_this<PluginHost> {
 public:
  using Listener = std::function<void(const CoordinatorEvent&)>;

  /// `clock` is passed to the plugins' fences. `failures` counts callbacks that threw.
  PluginHost(Loop& callbacks, const Clock& clock, std::string name_space, EpochFenceOptions fencing)
      : callbacks_(callbacks),
        clock_(clock),
        name_space_(std::move(name_space)),
        fencing_(fencing) {}

  void subscribe(std::shared_ptr<CoordinatorPlugin> plugin);
  void unsubscribe(std::shared_ptr<CoordinatorPlugin> plugin, std::function<void()> done);
  void listen(Listener listener);
  void emit(CoordinatorEvent event);
  void learn_epoch(Epoch epoch);
  void begin_term(std::shared_ptr<const LeaseGuard> guard);
  /// Calls `done` on the loop of the callbacks when every plugin has been told.
  void end_term(std::function<void()> done);

  /// Ends the term for every plugin and forgets them all. Afterwards any thread may destroy this.
  void close(std::function<void()> done);

  /// How long the callback under way has been running; none if there is none.
  [[nodiscard]] std::optional<Duration> running_for() const;
  [[nodiscard]] std::uint64_t failures() const { return failures_.load(); }
  [[nodiscard]] std::uint64_t epoch_drift_events() const MUSTER_EXCLUDES(mutex_);

 private:
  struct Seat {
    Seat(std::shared_ptr<CoordinatorPlugin> p, Loop& loop) : plugin(std::move(p)), work(loop) {}
    std::shared_ptr<CoordinatorPlugin> plugin;
    bool told = false;  ///< on_become_coordinator was called, its counterpart not yet.
    Timer work;
  };

  void tell_became(Seat& seat);
  void tell_stopped(Seat& seat);
  void work(Seat& seat);
  void guarded(const std::string& who, const std::string& what, const std::function<void()>& call);

  Loop& callbacks_;
  const Clock& clock_;
  const std::string name_space_;
  const EpochFenceOptions fencing_;
  std::atomic<Duration::rep> running_since_{0};
  std::atomic<std::uint64_t> failures_{0};

  // On the callbacks' loop only.
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<Listener> listeners_;
  std::shared_ptr<const LeaseGuard> guard_;
  Epoch epoch_;

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<CoordinatorPlugin>> plugins_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t drift_of_departed_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster
