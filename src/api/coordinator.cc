#include "api/coordinator.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/election/records.h"
#include "platform/host.h"
#include "platform/system_clock.h"

namespace muster::api {

pub::Error coordinator_moved_from() {
  return {pub::Code::kInvalid, "this GlobalCoordinator was moved from, or was stopped"};
}

namespace {

Result<CoordinatorOptions> coordinator_options(const pub::CoordinatorOptions& wanted) {
  auto options = CoordinatorOptions::from_json(wanted.json.empty() ? "{}" : wanted.json);
  if (!options) return options;
  if (!wanted.worker_id.empty()) options->worker_id = WorkerId(wanted.worker_id);
  if (options->worker_id.value().empty()) options->worker_id = WorkerId(default_worker_id());
  if (options->pod.empty()) options->pod = host_name();
  if (wanted.heartbeat_interval != Duration(0)) {
    options->heartbeat_interval = wanted.heartbeat_interval;
  }
  if (wanted.lease_timeout != Duration(0)) options->lease_timeout = wanted.lease_timeout;
  if (wanted.worker_timeout != Duration(0)) options->worker_timeout = wanted.worker_timeout;
  if (wanted.startup_jitter_max) options->startup_jitter_max = *wanted.startup_jitter_max;
  if (!wanted.campaigns) options->enable_coordinator = false;
  if (Status good = options->validate(); !good) return good.error();
  return options;
}

pub::CoordinatorEvent public_event(const CoordinatorEvent& event) {
  pub::CoordinatorEvent told;
  told.name = event_name(event);
  told.json = to_json(event);
  if (const auto* change = std::get_if<LeaderChangedEvent>(&event)) {
    told.token = change->epoch.value();
    if (change->new_leader) told.leader = change->new_leader->value();
  } else if (const auto* began = std::get_if<TermBeganEvent>(&event)) {
    told.token = began->epoch.value();
  } else if (const auto* ended = std::get_if<TermEndedEvent>(&event)) {
    told.token = ended->epoch.value();
  } else if (const auto* update = std::get_if<WorkersUpdatedEvent>(&event)) {
    for (const WorkerId& worker : update->workers) told.workers.push_back(worker.value());
  }
  return told;
}

}  // namespace

pub::Result<CoordinatorCore::Core> CoordinatorCore::start(const pub::Arbiter& arbiter,
                                                          const std::string& name,
                                                          pub::CoordinatorOptions options) {
  if (Status good = validate_name("namespace", name); !good) return to_public(good.error());
  auto filled = coordinator_options(options);
  if (!filled) return to_public(filled.error());
  auto core = std::make_shared<CoordinatorCore>(Connection::of(arbiter), name);
  Connection& connection = *core->connection();
  const Duration per_call = filled->timings().request_timeout;
  connection.thread().run([&] {
    auto made = std::make_unique<NamespaceCoordinator>(
        name, std::move(*filled),
        NamespaceCoordinator::Surroundings{connection.loop(), connection.callback_loop(),
                                           connection.store(), system_random(),
                                           [&connection, per_call](Callback<Done> done) {
                                             connection.probe(per_call, std::move(done));
                                           }});
    if (options.on_event) {
      made->plugins().listen([tell = std::move(options.on_event)](const CoordinatorEvent& event) {
        tell(public_event(event));
      });
    }
    const std::lock_guard lock(core->mutex_);
    core->core_ = std::move(made);
    core->core_->start();
  });
  return core;
}

pub::Status CoordinatorCore::subscribe(std::shared_ptr<pub::CoordinatorPlugin> plugin) {
  if (!plugin) return {pub::Code::kInvalid, "there is no plugin to subscribe"};
  const std::lock_guard lock(mutex_);
  if (!core_ || stopping_) return coordinator_moved_from();
  std::shared_ptr<PluginBridge>& bridge = bridges_[plugin.get()];
  if (bridge) return pub::Done{};
  bridge = std::make_shared<PluginBridge>(std::move(plugin), connection_->loop());
  bridge->connect();
  core_->plugins().subscribe(bridge);
  return pub::Done{};
}

pub::Status CoordinatorCore::unsubscribe(const std::shared_ptr<pub::CoordinatorPlugin>& plugin) {
  if (connection_->in_callback()) return waits_for_callbacks("unsubscribe()");
  {
    const std::lock_guard lock(mutex_);
    const auto found = bridges_.find(plugin.get());
    if (found == bridges_.end() || !core_) return pub::Done{};
    core_->plugins().unsubscribe(found->second, [] {});
    bridges_.erase(found);
  }
  // It was told on the callback thread, before this.
  connection_->wait_for_callbacks();
  return pub::Done{};
}

pub::Status CoordinatorCore::seat(std::shared_ptr<CoordinatorPlugin> plugin) {
  const std::lock_guard lock(mutex_);
  if (!core_ || stopping_) return coordinator_moved_from();
  core_->plugins().subscribe(std::move(plugin));
  return pub::Done{};
}

void CoordinatorCore::unseat(std::shared_ptr<CoordinatorPlugin> plugin) {
  const std::lock_guard lock(mutex_);
  if (core_) core_->plugins().unsubscribe(std::move(plugin), [] {});
}

void CoordinatorCore::begin_stop() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(stopping_, true)) return;
  connection_->loop().post([this] { core_->stop([this] { close(); }); });
}

// The worker has left; now the plugins are let go, and then the coordinator.
void CoordinatorCore::close() {
  core_->plugins().close([this] {
    connection_->loop().post([this] {
      std::unique_ptr<NamespaceCoordinator> core;
      {
        const std::lock_guard lock(mutex_);
        core = std::move(core_);
        bridges_.clear();
      }
      core.reset();
      // Once the mutex is free, a waiting thread may destroy this.
      Core self;
      const std::lock_guard lock(mutex_);
      gone_ = true;
      self.swap(self_);
      changed_.notify_all();
    });
  });
}

pub::Status CoordinatorCore::stop() {
  if (connection_->in_callback()) return waits_for_callbacks("stop()");
  begin_stop();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return gone_; });
  }
  connection_->wait_for_callbacks();
  return pub::Done{};
}

void CoordinatorCore::end() {
  if (!connection_->in_callback()) {
    (void)stop();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    self_ = shared_from_this();
  }
  begin_stop();
}

}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

GlobalCoordinator::GlobalCoordinator(std::shared_ptr<api::CoordinatorCore> core)
    : core_(std::move(core)) {}
GlobalCoordinator::GlobalCoordinator(GlobalCoordinator&&) noexcept = default;
GlobalCoordinator& GlobalCoordinator::operator=(GlobalCoordinator&& other) noexcept {
  if (this == &other) return *this;
  if (core_) core_->end();
  core_ = std::move(other.core_);
  return *this;
}
GlobalCoordinator::~GlobalCoordinator() {
  if (core_) core_->end();
}

Result<GlobalCoordinator> GlobalCoordinator::start(const Arbiter& arbiter,
                                                   const std::string& name_space,
                                                   CoordinatorOptions options) {
  auto core = api::CoordinatorCore::start(arbiter, name_space, std::move(options));
  if (!core) return core.error();
  return GlobalCoordinator(std::move(*core));
}

Status GlobalCoordinator::stop() {
  return core_ ? core_->stop() : Status(Done{});
}

std::string GlobalCoordinator::worker_id() const {
  if (!core_) return {};
  return core_->with(std::string(), [](auto& core) { return core.worker_id().value(); });
}
std::optional<std::string> GlobalCoordinator::leader() const {
  if (!core_) return {};
  return core_->with(std::optional<std::string>(), [](auto& core) -> std::optional<std::string> {
    const auto leader = core.leader();
    if (!leader) return {};
    return leader->value();
  });
}
bool GlobalCoordinator::is_leader() const {
  return core_ && core_->with(false, [](auto& core) { return core.leads(); });
}
Token GlobalCoordinator::epoch() const {
  if (!core_) return 0;
  return core_->with(Token{0}, [](auto& core) -> Token { return core.epoch().value(); });
}
Duration GlobalCoordinator::lease_left() const {
  if (!core_) return Duration(0);
  return core_->with(Duration(0), [](auto& core) { return core.lease_left(); });
}
std::vector<std::string> GlobalCoordinator::active_workers() const {
  std::vector<std::string> ids;
  if (!core_) return ids;
  return core_->with(ids, [&](auto& core) {
    for (const auto& worker : core.workers()) ids.push_back(worker.value());
    return ids;
  });
}
CoordinatorMetrics GlobalCoordinator::metrics() const {
  CoordinatorMetrics told;
  if (!core_) return told;
  return core_->with(told, [&](auto& core) {
    const auto metrics = core.metrics();
    told.heartbeat_count = metrics.heartbeat_count;
    told.heartbeat_failures = metrics.heartbeat_failures;
    told.election_count = metrics.election_count;
    told.leader_changes = metrics.leader_changes;
    told.worker_timeouts = metrics.worker_timeouts;
    told.epoch_drift_events = metrics.epoch_drift_events;
    told.contention_events = metrics.contention_events;
    told.plugin_failures = metrics.plugin_failures;
    told.json = metrics.to_json();
    return told;
  });
}
CircuitBreakerStatus GlobalCoordinator::circuit_breaker_status() const {
  CircuitBreakerStatus told;
  if (!core_) return told;
  return core_->with(told, [&](auto& core) {
    const auto status = core.metrics().circuit_breaker;
    told.state = static_cast<CircuitState>(status.state);
    told.failure_count = status.failure_count;
    told.failure_threshold = status.failure_threshold;
    told.reset_timeout = status.reset_timeout;
    told.trips = status.trips;
    return told;
  });
}

Status GlobalCoordinator::subscribe(std::shared_ptr<CoordinatorPlugin> plugin) {
  if (!core_) return api::coordinator_moved_from();
  return core_->subscribe(std::move(plugin));
}
Status GlobalCoordinator::unsubscribe(const std::shared_ptr<CoordinatorPlugin>& plugin) {
  if (!core_) return api::coordinator_moved_from();
  return core_->unsubscribe(plugin);
}
Status GlobalCoordinator::step_down(const std::string& prefer, Duration hold_off) {
  if (!core_) return api::coordinator_moved_from();
  std::optional<WorkerId> preferred;
  if (!prefer.empty()) preferred = WorkerId(prefer);
  return core_->later(
      [preferred, hold_off](auto& core) { core.step_down(preferred, hold_off, [] {}); });
}
Status GlobalCoordinator::set_eligible(bool eligible) {
  if (!core_) return api::coordinator_moved_from();
  return core_->later([eligible](auto& core) { core.set_eligible(eligible); });
}

static_assert(static_cast<int>(CircuitState::kHalfOpen) ==
              static_cast<int>(muster::CircuitState::kHalfOpen));

MUSTER_END_NAMESPACE

// The plugin's side.

MUSTER_BEGIN_NAMESPACE

struct CoordinatorPlugin::State {
  std::mutex mutex;
  std::weak_ptr<api::PluginBridge> bridge;
};

Lease::~Lease() = default;

CoordinatorPlugin::CoordinatorPlugin() : state_(std::make_unique<State>()) {}
CoordinatorPlugin::~CoordinatorPlugin() = default;

void CoordinatorPlugin::on_become_coordinator(const Lease&) {}
void CoordinatorPlugin::on_stop_being_coordinator() {}
void CoordinatorPlugin::coordinator_work(const Lease&) {}
Duration CoordinatorPlugin::work_interval() const {
  return Duration(5'000'000'000);
}

std::shared_ptr<api::PluginBridge> CoordinatorPlugin::bridge() const {
  const std::lock_guard lock(state_->mutex);
  return state_->bridge.lock();
}

bool CoordinatorPlugin::validate_epoch(Token task) const {
  const auto inner = bridge();
  return inner && inner->validate_epoch(Epoch(task));
}
bool CoordinatorPlugin::is_epoch_valid(Token task, std::int64_t created_at) const {
  const auto inner = bridge();
  return inner && inner->is_epoch_valid(Epoch(task), wall_from_ms(created_at));
}
Token CoordinatorPlugin::last_known_epoch() const {
  const auto inner = bridge();
  return inner ? inner->last_known_epoch().value() : 0;
}
std::uint64_t CoordinatorPlugin::epoch_drift_events() const {
  const auto inner = bridge();
  return inner ? inner->epoch_drift_events() : 0;
}

MUSTER_END_NAMESPACE

namespace muster::api {

void PluginBridge::connect() {
  const std::lock_guard lock(plugin_->state_->mutex);
  plugin_->state_->bridge = weak_from_this();
}

}  // namespace muster::api
