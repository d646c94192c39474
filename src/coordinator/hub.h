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

/// One worker's part in one election, with one heartbeat and any number of plugins. A Hub creates
/// it and must outlive it. Threads: any; but stop(), step_down() and unsubscribe() wait for
/// callbacks, so a callback must not call them.
class GlobalCoordinator {
 public:
  ~GlobalCoordinator();
  GlobalCoordinator(const GlobalCoordinator&) = delete;
  GlobalCoordinator& operator=(const GlobalCoordinator&) = delete;

  /// Begins to take part, after the startup jitter. A second call has no effect.
  void start();
  /// Stops the plugins, then releases the lease, then leaves the election. Waits for all of that,
  /// at most for the stop budget and two requests. A second call has no effect.
  void stop();

  [[nodiscard]] const std::string& name_space() const { return name_space_; }
  [[nodiscard]] const WorkerId& worker_id() const;
  /// The leader as last seen, unless its lease, as observed here, has ended.
  [[nodiscard]] std::optional<WorkerId> leader() const;
  /// Whether this worker leads: compares the deadline of its lease with this moment.
  [[nodiscard]] bool is_leader() const;
  /// Whether another worker leads, as leader() reports.
  [[nodiscard]] bool is_leader(const WorkerId& worker) const;
  [[nodiscard]] Epoch epoch() const;
  /// The time for which this worker may lead without another renewal; zero if it does not lead.
  [[nodiscard]] Duration lease_left() const;
  [[nodiscard]] std::vector<WorkerId> active_workers() const;
  [[nodiscard]] CoordinatorMetrics metrics() const;
  [[nodiscard]] CircuitBreakerStatus circuit_breaker_status() const;

  /// Subscribing a plugin again has no effect.
  void subscribe(std::shared_ptr<CoordinatorPlugin> plugin);
  /// Returns after the plugin was told that it no longer coordinates, if it did.
  void unsubscribe(const std::shared_ptr<CoordinatorPlugin>& plugin);
  /// Listeners are called on the thread of the plugins.
  void on_event(std::function<void(const CoordinatorEvent&)> listener);

  /// Hands over: stops the plugins, releases the lease with a preference for `preferred`, and does
  /// not campaign for `hold_off`.
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

/// Opens one arbiter and provides its coordinators. Threads: any.
class Hub {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Hub>> open(const std::string& url,
                                                         HubOptions options = {});
  /// Stops every coordinator, then closes the store.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  /// Created by the first call, started by the caller. Each election has exactly one: later calls
  /// get the same coordinator, and options that differ from the first ones are reported.
  [[nodiscard]] Result<std::shared_ptr<GlobalCoordinator>> coordinator(
      const std::string& name_space, const CoordinatorOptions& options = {})
      MUSTER_EXCLUDES(mutex_);

  /// The arbiter itself, for plugins and programs. The probe runs when the first coordinator
  /// starts, not here; docs/choosing.md lists the S3 stores for which that matters.
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
