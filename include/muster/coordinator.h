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
  /// Compared with the clock at this moment: turns false at the deadline, and never true again.
  [[nodiscard]] virtual bool valid() const = 0;
  /// Begin nothing new, and return: the term is being handed over, or has ended.
  [[nodiscard]] virtual bool stopping() const = 0;
  /// Stamped on everything that this term does.
  [[nodiscard]] virtual Token token() const = 0;
  /// How long it holds without another renewal; zero once it has ended.
  [[nodiscard]] virtual Duration left() const = 0;
};

/// Leader-only work that shares a coordinator with others. Derive, override, subscribe to one
/// coordinator.
///
/// For every term of this process on_become_coordinator() is called at most once and, if it was,
/// on_stop_being_coordinator() exactly once after it, on every path: release, expiry, replacement,
/// unsubscription, shutdown. A plugin that subscribes during a term is told of it. What they throw
/// is reported and goes no further; one that hangs holds up the other callbacks, is reported, and
/// never the heartbeat.
///
/// A clean stop or a hand-over waits for the callback under way and then releases the lease: work
/// that takes long asks `lease.stopping()` before each step, and returns when it is true.
///
/// Not guaranteed: that on_stop_being_coordinator() runs before another process leads. Work that
/// touches anything outside asks its lease before, and sends the token along.
///
/// Threads: callbacks come on the callback thread of the arbiter, one at a time; the rest is for
/// any.
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
  /// 5 s unless overridden.
  [[nodiscard]] virtual Duration work_interval() const;

  /// May a task with this token run? False, and counted, when it comes from a leader that was
  /// replaced; false while the plugin is subscribed to no coordinator.
  [[nodiscard]] bool validate_epoch(Token task) const;
  /// As validate_epoch(), but a task of the token just before, created within the grace period of
  /// now (in milliseconds since 1970), is accepted for that period after a change.
  [[nodiscard]] bool is_epoch_valid(Token task, std::int64_t created_at) const;
  [[nodiscard]] Token last_known_epoch() const;
  /// How many tasks were refused.
  [[nodiscard]] std::uint64_t epoch_drift_events() const;

 private:
  friend class muster::api::PluginBridge;
  [[nodiscard]] std::shared_ptr<muster::api::PluginBridge> bridge() const;
  struct State;
  std::unique_ptr<State> state_;
};

/// What a coordinator has to tell.
struct CoordinatorEvent {
  std::string name;    ///< "leader:changed", "workers:updated", "term:began", "term:ended", …
  std::string json;    ///< One JSON object with all of it; docs/json.md lists the fields.
  Token token = 0;     ///< Of changes of leadership.
  std::string leader;  ///< The new one; empty: nobody.
  std::vector<std::string> workers;  ///< Of workers:updated.
};

enum class CircuitState : int { kClosed = 0, kOpen = 1, kHalfOpen = 2 };

struct CircuitBreakerStatus {
  CircuitState state = CircuitState::kClosed;
  std::uint64_t failure_count = 0;
  std::uint32_t failure_threshold = 0;
  Duration reset_timeout{0};
  std::uint64_t trips = 0;
};

/// What a coordinator has done so far.
struct CoordinatorMetrics {
  std::uint64_t heartbeat_count = 0;
  std::uint64_t heartbeat_failures = 0;
  std::uint64_t election_count = 0;
  std::uint64_t leader_changes = 0;
  std::uint64_t worker_timeouts = 0;
  std::uint64_t epoch_drift_events = 0;
  std::uint64_t contention_events = 0;
  std::uint64_t plugin_failures = 0;
  std::string json;  ///< All of them, under the names of docs/coordinator.md.
};

/// Zero and empty stand for the defaults of docs/coordinator.md.
struct CoordinatorOptions {
  std::string worker_id{};  ///< Unique in the namespace; empty: host name and process id.
  Duration heartbeat_interval{0};
  Duration lease_timeout{0};
  Duration worker_timeout{0};
  /// The first heartbeat comes after a random time up to this.
  std::optional<Duration> startup_jitter_max{};
  bool campaigns = true;  ///< False: is listed, and never leads.
  /// Any option by its name in docs/coordinator.md, as a JSON object; those above come on top.
  std::string json{};
  /// Told every event, on the callback thread.
  std::function<void(const CoordinatorEvent&)> on_event{};
};

/// One worker's part in one namespace: one election, one heartbeat, any number of plugins.
/// Destroying it is stop(); in a callback it does not wait. Afterwards the namespace may be entered
/// again.
///
/// Threads: any, but the object is moved and destroyed by one at a time. stop() and unsubscribe()
/// wait for callbacks and are refused with kInvalid in one.
class MUSTER_EXPORT GlobalCoordinator {
 public:
  /// Begins to take part and returns at once. kInvalid says which option is wrong.
  [[nodiscard]] static Result<GlobalCoordinator> start(const Arbiter& arbiter,
                                                       const std::string& name_space,
                                                       CoordinatorOptions options = {});
  GlobalCoordinator(GlobalCoordinator&&) noexcept;
  GlobalCoordinator& operator=(GlobalCoordinator&&) noexcept;
  ~GlobalCoordinator();

  /// Plugins are stopped first, then the lease is released, then the worker leaves. Again: nothing.
  Status stop();

  [[nodiscard]] std::string worker_id() const;
  /// As last seen, while the leader's lease, as seen from here, has not ended.
  [[nodiscard]] std::optional<std::string> leader() const;
  /// Compared with the deadline of the lease at this moment.
  [[nodiscard]] bool is_leader() const;
  [[nodiscard]] Token epoch() const;
  [[nodiscard]] Duration lease_left() const;
  [[nodiscard]] std::vector<std::string> active_workers() const;
  [[nodiscard]] CoordinatorMetrics metrics() const;
  [[nodiscard]] CircuitBreakerStatus circuit_breaker_status() const;

  /// A plugin subscribed twice is subscribed once.
  Status subscribe(std::shared_ptr<CoordinatorPlugin> plugin);
  /// Returns when the plugin has been told that it coordinates no more, if it did.
  Status unsubscribe(const std::shared_ptr<CoordinatorPlugin>& plugin);
  /// Hands over, to the worker `prefer` if it lives, and does not campaign for `hold_off`.
  /// Returns at once.
  Status step_down(const std::string& prefer = {}, Duration hold_off = Duration(15'000'000'000));
  Status set_eligible(bool eligible);

 private:
  friend class muster::api::CoordinatorCore;
  explicit GlobalCoordinator(std::shared_ptr<muster::api::CoordinatorCore> core);
  std::shared_ptr<muster::api::CoordinatorCore> core_;
};

MUSTER_END_NAMESPACE
