#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "coordinator/events.h"
#include "coordinator/metrics.h"
#include "coordinator/options.h"
#include "coordinator/plugin.h"
#include "elector/sync_store.h"

namespace muster {

class LoopThread;
class NamespaceCoordinator;
class ObjectStore;

/// One worker's part in one namespace: one election, one heartbeat, any number of plugins.
/// Made by a Hub, which it must not outlive. Any thread; but stop(), step_down() and unsubscribe()
/// wait for callbacks, so they are not for a callback to call.
class GlobalCoordinator {
 public:
  ~GlobalCoordinator();
  GlobalCoordinator(const GlobalCoordinator&) = delete;
  GlobalCoordinator& operator=(const GlobalCoordinator&) = delete;

  /// Begins to take part, after the startup jitter. Again: nothing.
  void start();
  /// Plugins are stopped first, then the lease is released, then the worker leaves. Waits for all
  /// of it, at most for the stop budget and two requests. Again: nothing.
  void stop();

  [[nodiscard]] const std::string& name_space() const { return name_space_; }
  [[nodiscard]] const WorkerId& worker_id() const;
  /// The leader as last seen, while its lease, as seen from here, has not ended.
  [[nodiscard]] std::optional<WorkerId> leader() const;
  /// Of this worker: compared with the deadline of its lease at this moment.
  [[nodiscard]] bool is_leader() const;
  /// Of another: as leader() says.
  [[nodiscard]] bool is_leader(const WorkerId& worker) const;
  [[nodiscard]] Epoch epoch() const;
  /// How long this worker may still lead without another renewal; zero when it does not.
  [[nodiscard]] Duration lease_left() const;
  [[nodiscard]] std::vector<WorkerId> active_workers() const;
  [[nodiscard]] CoordinatorMetrics metrics() const;
  [[nodiscard]] CircuitBreakerStatus circuit_breaker_status() const;

  /// A plugin subscribed twice is subscribed once.
  void subscribe(std::shared_ptr<CoordinatorPlugin> plugin);
  /// Returns when the plugin has been told that it coordinates no more, if it did.
  void unsubscribe(const std::shared_ptr<CoordinatorPlugin>& plugin);
  /// Listeners are called on the thread of the plugins.
  void on_event(std::function<void(const CoordinatorEvent&)> listener);

  /// Hands the lead over: plugins are stopped, the lease is released with a preference for
  /// `preferred`, and this worker does not campaign for `hold_off`.
  void step_down(std::optional<WorkerId> preferred, Duration hold_off);
  void set_eligible(bool eligible);

 private:
  friend class Hub;
  GlobalCoordinator(std::string name_space, std::unique_ptr<NamespaceCoordinator> core,
                    LoopThread& loop);

  std::string name_space_;
  LoopThread& loop_;
  std::unique_ptr<NamespaceCoordinator> core_;
};

struct HubOptions {
  std::string ca_file;  ///< For etcd:// and muster:// over TLS.
  std::string cert_file;
  std::string key_file;
  Duration store_timeout = 5s;  ///< For calls through store().
};

/// Opens one arbiter and hands out its coordinators. Any thread.
class Hub {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Hub>> open(const std::string& url,
                                                         HubOptions options = {});
  /// Stops every coordinator, then closes the store.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  /// Made at the first call, started by the caller. There is exactly one for each namespace: later
  /// calls get the same one, and options that differ from the first are reported.
  [[nodiscard]] Result<std::shared_ptr<GlobalCoordinator>> coordinator(
      const std::string& name_space, const CoordinatorOptions& options = {})
      MUSTER_EXCLUDES(mutex_);

  /// The arbiter itself, for plugins and programs. It is probed when the first coordinator starts,
  /// not here; docs/choosing.md says for which S3 stores that matters.
  [[nodiscard]] SyncStore& store() { return *sync_store_; }

 private:
  Hub();
  void probe(Duration timeout, Callback<Done> done);

  std::unique_ptr<LoopThread> loop_;
  std::unique_ptr<LoopThread> callbacks_;
  std::unique_ptr<ObjectStore> store_;
  std::unique_ptr<SyncStore> sync_store_;
  Random probe_random_;      // On the loop only.
  bool found_safe_ = false;  // On the loop only.
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<GlobalCoordinator>> coordinators_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
