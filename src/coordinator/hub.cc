#include "coordinator/hub.h"

#include <future>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "coordinator/namespace_coordinator.h"
#include "core/election/records.h"
#include "platform/event_loop.h"
#include "platform/host.h"
#include "platform/system_clock.h"
#include "store/open/open.h"
#include "store/probe.h"

namespace muster {

GlobalCoordinator::GlobalCoordinator(std::string name_space,
                                     std::unique_ptr<NamespaceCoordinator> core, LoopThread& loop)
    : name_space_(std::move(name_space)), loop_(loop), core_(std::move(core)) {}

GlobalCoordinator::~GlobalCoordinator() {
  stop();
  std::promise<void> closed;
  core_->plugins().close([&] { closed.set_value(); });
  closed.get_future().wait();
  // It lives on the loop, so it ends there.
  loop_.run([this] { core_.reset(); });
}

void GlobalCoordinator::start() {
  loop_.run([this] { core_->start(); });
}

void GlobalCoordinator::stop() {
  std::promise<void> stopped;
  loop_.loop().post([&] { core_->stop([&] { stopped.set_value(); }); });
  stopped.get_future().wait();
}

const WorkerId& GlobalCoordinator::worker_id() const {
  return core_->worker_id();
}
std::optional<WorkerId> GlobalCoordinator::leader() const {
  return core_->leader();
}
bool GlobalCoordinator::is_leader() const {
  return core_->leads();
}
Epoch GlobalCoordinator::epoch() const {
  return core_->epoch();
}
Duration GlobalCoordinator::lease_left() const {
  return core_->lease_left();
}
std::vector<WorkerId> GlobalCoordinator::active_workers() const {
  return core_->workers();
}
CoordinatorMetrics GlobalCoordinator::metrics() const {
  return core_->metrics();
}

bool GlobalCoordinator::is_leader(const WorkerId& worker) const {
  return worker == worker_id() ? is_leader() : leader() == worker;
}

CircuitBreakerStatus GlobalCoordinator::circuit_breaker_status() const {
  return core_->metrics().circuit_breaker;
}

void GlobalCoordinator::subscribe(std::shared_ptr<CoordinatorPlugin> plugin) {
  core_->plugins().subscribe(std::move(plugin));
}

void GlobalCoordinator::unsubscribe(const std::shared_ptr<CoordinatorPlugin>& plugin) {
  std::promise<void> done;
  core_->plugins().unsubscribe(plugin, [&] { done.set_value(); });
  done.get_future().wait();
}

void GlobalCoordinator::on_event(std::function<void(const CoordinatorEvent&)> listener) {
  core_->plugins().listen(std::move(listener));
}

void GlobalCoordinator::step_down(std::optional<WorkerId> preferred, Duration hold_off) {
  std::promise<void> done;
  loop_.loop().post([&] { core_->step_down(preferred, hold_off, [&] { done.set_value(); }); });
  done.get_future().wait();
}

void GlobalCoordinator::set_eligible(bool eligible) {
  loop_.run([this, eligible] { core_->set_eligible(eligible); });
}

Hub::Hub()
    : loop_(std::make_unique<LoopThread>()),
      callbacks_(std::make_unique<LoopThread>()),
      probe_random_(system_random()) {}

Result<std::unique_ptr<Hub>> Hub::open(const std::string& url, HubOptions options) {
  std::unique_ptr<Hub> hub(new Hub());
  Result<std::unique_ptr<ObjectStore>> store = Error{Errc::kUnavailable, "not opened"};
  StoreOptions store_options;
  store_options.tls = {options.ca_file, options.cert_file, options.key_file};
  hub->loop_->run([&] { store = open_store(url, hub->loop_->loop(), store_options); });
  if (!store) return store.error();
  hub->store_ = std::move(*store);
  hub->sync_store_ =
      std::make_unique<SyncStore>(hub->loop_->loop(), *hub->store_, options.store_timeout);
  return hub;
}

Hub::~Hub() {
  std::map<std::string, std::shared_ptr<GlobalCoordinator>> coordinators;
  {
    MutexLock lock(mutex_);
    coordinators.swap(coordinators_);
  }
  for (auto& [name, coordinator] : coordinators) {
    coordinator->stop();
    MUSTER_CHECK(coordinator.use_count() == 1);  // Nobody may keep one beyond its hub.
  }
  coordinators.clear();
  if (store_) loop_->run([this] { store_.reset(); });
}

// Asked for by each coordinator before its first campaign; one answer serves them all.
void Hub::probe(Duration timeout, Callback<Done> done) {
  if (found_safe_) return done(Done{});
  probe_store(*store_, loop_->loop(), probe_random_, probe_time(timeout),
              [this, done = std::move(done)](Status safe) {
                found_safe_ = found_safe_ || safe.ok();
                done(std::move(safe));
              });
}

Result<std::shared_ptr<GlobalCoordinator>> Hub::coordinator(const std::string& name_space,
                                                            const CoordinatorOptions& options) {
  if (Status status = validate_name("namespace", name_space); !status) return status.error();
  if (Status status = options.validate(); !status) return status.error();
  MutexLock lock(mutex_);
  std::shared_ptr<GlobalCoordinator>& coordinator = coordinators_[name_space];
  CoordinatorOptions named = options;
  if (named.pod.empty()) named.pod = host_name();
  if (named.worker_id.value().empty()) named.worker_id = WorkerId(default_worker_id());
  const Duration per_call = named.timings().request_timeout;
  const auto ask = [this, per_call](Callback<Done> done) { probe(per_call, std::move(done)); };
  if (coordinator) {
    if (!(named == coordinator->core_->options())) {
      log_warn(
          "a coordinator was requested with options other than those it was created with",
          {{"namespace", name_space}, {"epoch", std::to_string(coordinator->epoch().value())}});
    }
    return coordinator;
  }
  std::unique_ptr<NamespaceCoordinator> core;
  loop_->run([&] {
    core = std::make_unique<NamespaceCoordinator>(
        name_space, named,
        NamespaceCoordinator::Surroundings{loop_->loop(), callbacks_->loop(), *store_,
                                           system_random(), ask});
  });
  coordinator.reset(new GlobalCoordinator(name_space, std::move(core), *loop_));
  return coordinator;
}

}  // namespace muster
