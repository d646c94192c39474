#pragma once

#include <muster/arbiter.h>
#include <muster/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::api {
class CoordinatorCore;
class PluginBridge;
}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

/// "Is this work still allowed?", for one term of a coordinator. Lives until the plugin's
/// on_stop_being_coordinator() has returned. Threads: any.
class MUSTER_EXPORT Lease {
 public:
  virtual ~Lease();
  /// Compares the deadline with the clock now: becomes false at the deadline, and never true again.
  [[nodiscard]] virtual bool valid() const = 0;
  /// Whether to begin nothing new and return: the term is being handed over, or has ended.
  [[nodiscard]] virtual bool stopping() const = 0;
  /// The token to stamp on every effect of this term.
  [[nodiscard]] virtual Token token() const = 0;
  /// The time until the lease ends without another renewal; zero once it has ended.
  [[nodiscard]] virtual Duration left() const = 0;
};

/// Leader-only work that shares a coordinator with other plugins. Derive, override, subscribe to
/// one coordinator.
///
/// For every term of this process on_become_coordinator() is called at most once and, if it was,
/// on_stop_being_coordinator() exactly once after it, on every path: release, expiry, replacement,
/// unsubscription, shutdown. A plugin that subscribes during a term is told about it. Exceptions
/// are reported and go no further. A callback that hangs delays the other callbacks, never the
/// heartbeat, and is reported.
///
/// A clean stop or a hand-over waits for the callback under way and then releases the lease. Long
/// work must check `lease.stopping()` before each step, and return when it is true.
///
/// Not guaranteed: that on_stop_being_coordinator() runs before another process leads. Work with
/// external effects must check its lease first, and send the token with each effect.
///
/// Threads: callbacks run on the callback thread of the arbiter, one at a time. Any thread may call
/// the other functions.
class MUSTER_EXPORT CoordinatorPlugin {
 public:
  CoordinatorPlugin();
  virtual ~CoordinatorPlugin();
  CoordinatorPlugin(const CoordinatorPlugin&) = delete;
  CoordinatorPlugin& operator=(const CoordinatorPlugin&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  virtual void on_become_coordinator(const Lease& lease);
  virtual void on_stop_being_coordinator();
  /// Called every work_interval() while leading, the first time right after the term began.
  virtual void coordinator_work(const Lease& lease);
  /// Default: 5 s.
  [[nodiscard]] virtual Duration work_interval() const;

  /// Whether a task with this token may run. False, and counted, if it comes from a replaced
  /// leader; false while the plugin is subscribed to no coordinator.
  [[nodiscard]] bool validate_epoch(Token task) const;
  /// Like validate_epoch(), but for the grace period after a change it also accepts a task of the
  /// previous token, created within that period (`created_at`: milliseconds since 1970).
  [[nodiscard]] bool is_epoch_valid(Token task, std::int64_t created_at) const;
  [[nodiscard]] Token last_known_epoch() const;
  /// The number of refused tasks.
  [[nodiscard]] std::uint64_t epoch_drift_events() const;

 private:
  friend class muster::api::PluginBridge;
  [[nodiscard]] std::shared_ptr<muster::api::PluginBridge> bridge() const;
  struct State;
  std::unique_ptr<State> state_;
};

/// An event of a coordinator.
struct CoordinatorEvent {
  std::string name;    ///< "leader:changed", "workers:updated", "term:began", "term:ended", …
  std::string json;    ///< One JSON object with all fields; docs/json.md lists them.
  Token token = 0;     ///< For changes of leadership.
  std::string leader;  ///< The new leader; empty: none.
  std::vector<std::string> workers;  ///< For workers:updated.
};

enum class CircuitState : int { kClosed = 0, kOpen = 1, kHalfOpen = 2 };

struct CircuitBreakerStatus {
  CircuitState state = CircuitState::kClosed;
  std::uint64_t failure_count = 0;
  std::uint32_t failure_threshold = 0;
  Duration reset_timeout{0};
  std::uint64_t trips = 0;
};

/// Counts of a coordinator so far.
struct CoordinatorMetrics {
  std::uint64_t heartbeat_count = 0;
  std::uint64_t heartbeat_failures = 0;
  std::uint64_t election_count = 0;
  std::uint64_t leader_changes = 0;
  std::uint64_t worker_timeouts = 0;
  std::uint64_t epoch_drift_events = 0;
  std::uint64_t contention_events = 0;
  std::uint64_t plugin_failures = 0;
  std::string json;  ///< All of them, by the names of docs/coordinator.md.
};

/// Zero and empty mean the defaults of docs/coordinator.md.
struct CoordinatorOptions {
  std::string worker_id{};  ///< Unique in the election; empty: host name and process id.
  Duration heartbeat_interval{0};
  Duration lease_timeout{0};
  Duration worker_timeout{0};
  /// The first heartbeat comes after a random time up to this.
  std::optional<Duration> startup_jitter_max{};
  bool campaigns = true;  ///< False: is listed, but never leads.
  /// Any option by its name in docs/coordinator.md, as a JSON object; the fields above override it.
  std::string json{};
  /// Called with every event, on the callback thread.
  std::function<void(const CoordinatorEvent&)> on_event{};
};

/// One worker's part in one election (`name_space`), with one heartbeat and any number of plugins.
/// The destructor is stop(); in a callback it does not wait. Afterwards the process may enter the
/// election again.
///
/// Threads: any, but only one may move or destroy the object. stop() and unsubscribe() wait for
/// callbacks and are refused with kInvalid in a callback.
class MUSTER_EXPORT GlobalCoordinator {
 public:
  /// Begins to take part and returns at once. kInvalid names the wrong option.
  [[nodiscard]] static Result<GlobalCoordinator> start(const Arbiter& arbiter,
                                                       const std::string& name_space,
                                                       CoordinatorOptions options = {});
  GlobalCoordinator(GlobalCoordinator&&) noexcept;
  GlobalCoordinator& operator=(GlobalCoordinator&&) noexcept;
  ~GlobalCoordinator();

  /// Stops the plugins, releases the lease, leaves the election. A second call has no effect.
  Status stop();

  [[nodiscard]] std::string worker_id() const;
  /// The leader as last seen, unless its lease, as observed here, has ended.
  [[nodiscard]] std::optional<std::string> leader() const;
  /// Compares the deadline of the lease with this moment.
  [[nodiscard]] bool is_leader() const;
  [[nodiscard]] Token epoch() const;
  [[nodiscard]] Duration lease_left() const;
  [[nodiscard]] std::vector<std::string> active_workers() const;
  [[nodiscard]] CoordinatorMetrics metrics() const;
  [[nodiscard]] CircuitBreakerStatus circuit_breaker_status() const;

  /// Subscribing a plugin again has no effect.
  Status subscribe(std::shared_ptr<CoordinatorPlugin> plugin);
  /// Returns after the plugin was told that it no longer coordinates, if it did.
  Status unsubscribe(const std::shared_ptr<CoordinatorPlugin>& plugin);
  /// Hands over, to the worker `prefer` if it is alive, and does not campaign for `hold_off`.
  /// Returns at once.
  Status step_down(const std::string& prefer = {}, Duration hold_off = Duration(15'000'000'000));
  Status set_eligible(bool eligible);

 private:
  friend class muster::api::CoordinatorCore;
  explicit GlobalCoordinator(std::shared_ptr<muster::api::CoordinatorCore> core);
  std::shared_ptr<muster::api::CoordinatorCore> core_;
};

MUSTER_END_NAMESPACE
