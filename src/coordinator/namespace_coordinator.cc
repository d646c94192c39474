#include "coordinator/namespace_coordinator.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace muster {
namespace {

ElectionConfig election_config(const CoordinatorOptions& options, Random& random) {
  ElectionConfig config;
  config.id = options.worker_id;
  config.incarnation = Incarnation(random.uuid());
  config.terms = options.timings().terms;
  config.interval = options.heartbeat_interval;
  config.jitter = options.heartbeat_jitter;
  config.retry_wait = std::min<Duration>(1s, options.lease_timeout / 15);
  config.turn_wait = config.retry_wait;
  return config;
}

ElectionDriver::Options driver_options(const std::string& name_space,
                                       const CoordinatorOptions& options) {
  ElectionDriver::Options result;
  result.name_space = name_space;
  result.request_timeout = options.timings().request_timeout;
  result.heartbeat_interval = options.heartbeat_interval;
  result.worker_timeout = options.worker_timeout;
  result.pod = options.pod;
  return result;
}

WorkerRecord worker_record(const std::string& name_space, const ElectionConfig& config,
                           const CoordinatorOptions& options) {
  WorkerRecord record;
  record.worker = config.id;
  record.incarnation = config.incarnation;
  record.pod = options.pod;
  record.plugin_name = "coordinator";
  record.name_space = name_space;
  return record;
}

}  // namespace

NamespaceCoordinator::NamespaceCoordinator(std::string name_space, CoordinatorOptions options,
                                           Surroundings surroundings)
    : NamespaceCoordinator(name_space, options, surroundings,
                           election_config(options, surroundings.random)) {}

NamespaceCoordinator::NamespaceCoordinator(std::string name_space, CoordinatorOptions options,
                                           Surroundings& surroundings, ElectionConfig config)
    : name_space_(std::move(name_space)),
      options_(std::move(options)),
      loop_(surroundings.loop),
      store_(surroundings.store),
      probe_(std::move(surroundings.probe)),
      random_(surroundings.random.next()),
      host_(std::make_shared<PluginHost>(surroundings.callbacks, loop_, name_space_,
                                         options_.epoch_fencing)),
      driver_(loop_, store_, config, driver_options(name_space_, options_),
              {.on_event = [this](const ElectionEvent& event) { handle(event); },
               .workers = [this] { return roster_.live(); },
               .timeouts = [this] { return roster_.timeouts(); },
               .may_beat = [this] { return may_beat(); },
               .on_beat = [this](Duration took, bool failed) { after_beat(took, failed); }},
              Random(random_.next())),
      registration_(loop_, store_, driver_.keys().worker(config.id),
                    worker_record(name_space_, config, options_),
                    {.worker_timeout = options_.worker_timeout,
                     .request_timeout = options_.timings().request_timeout,
                     .retry_wait = config.retry_wait},
                    {.on_duplicate = [this](const Incarnation& o) { on(DuplicateWorker{o}); },
                     .on_error = [this](const Error& e) { on(StoreTrouble{e}); }},
                    Random(random_.next())),
      roster_(loop_, store_, driver_.keys(),
              {.self = config.id,
               .worker_timeout = options_.worker_timeout,
               .request_timeout = options_.timings().request_timeout,
               .sweep_after = 10 * options_.worker_timeout},
              {.on_change = [this](std::size_t a, std::size_t t) { note_workers(a, t); },
               .on_error = [this](const Error& e) { on(StoreTrouble{e}); }},
              Random(random_.next())),
      breaker_(options_.circuit_breaker),
      contention_(options_.contention, options_.heartbeat_interval),
      latencies_(options_.metrics_buffer_size),
      election_durations_(Histogram::for_elections()),
      start_timer_(loop_),
      stop_timer_(loop_) {
  MutexLock lock(mutex_);
  shared_.workers = roster_.live();
  shared_.metrics.start_time = loop_.wall_now();
}

NamespaceCoordinator::~NamespaceCoordinator() {
  if (guard_) guard_->close();
}

void NamespaceCoordinator::start() {
  if (std::exchange(started_, true)) return;
  if (!options_.enable_coordinator) driver_.set_eligible(false);
  start_timer_.arm(random_.between(options_.startup_jitter_min, options_.startup_jitter_max),
                   [this] { begin(); });
}

// A store that only pretends to compare and swap would elect two: it is refused before anything.
void NamespaceCoordinator::begin() {
  if (!probe_) return probed(Done{});
  probe_(lifetime_.wrap([this](const Status& safe) { probed(safe); }));
}

void NamespaceCoordinator::probed(const Status& safe) {
  if (stopping_) return;
  if (safe.is(Errc::kUnsupported)) {
    return report(TroubleEvent::Kind::kUnsafeStore, safe.error().message);
  }
  if (!safe) {
    // Not reachable now: that says nothing about its fitness.
    on(StoreTrouble{safe.error()});
    start_timer_.arm(options_.heartbeat_interval, [this] { begin(); });
    return;
  }
  registration_.start(lifetime_.wrap([this] { take_part(); }));
  count([](CoordinatorMetrics& m) { ++m.worker_registrations; });
}

void NamespaceCoordinator::take_part() {
  if (stopping_) return;
  watch_state();
  driver_.start();
  compare_timings();
}

// Workers with other timings are safe, since a lease is as long as its holder wrote, but they are
// hardly meant.
void NamespaceCoordinator::compare_timings() {
  const auto differs = [this](const NamespaceMetadata& metadata) {
    return metadata.lease_timeout != options_.lease_timeout ||
           metadata.heartbeat_interval != options_.heartbeat_interval ||
           metadata.worker_timeout != options_.worker_timeout;
  };
  store_.get(driver_.keys().metadata, {}, loop_.now() + options_.timings().request_timeout,
             lifetime_.wrap([this, differs](const Result<Object>& object) {
               if (!object) return;
               const auto metadata = decode_whole(*object, decode_metadata);
               if (!metadata || metadata->creator.empty() || !differs(*metadata)) return;
               report(TroubleEvent::Kind::kTimingsDiffer,
                      "this worker's timings differ from those that " + metadata->creator +
                          " set up the namespace with: heartbeat " +
                          format_duration(metadata->heartbeat_interval) + ", lease " +
                          format_duration(metadata->lease_timeout) + ", worker timeout " +
                          format_duration(metadata->worker_timeout));
             }));
}

void NamespaceCoordinator::watch_state() {
  if (!store_.capabilities().watch) return;
  watch_ = store_.watch(driver_.keys().state, {}, [this](const WatchEvent&) {
    // The holder learns nothing from its own renewals, and of a replacement by its next one.
    if (!driver_.election().leads(loop_.now())) driver_.nudge();
  });
}

// The breaker counts one failure for each heartbeat interval, not one for each quick retry within
// it: otherwise a short outage would open it for longer than a lease lasts.
bool NamespaceCoordinator::may_beat() {
  const MonoTime now = loop_.now();
  const bool retry = breaker_.status().state == CircuitState::kClosed && failure_counted_at_ &&
                     now - *failure_counted_at_ < options_.heartbeat_interval;
  breaker_counts_ = !retry;
  if (retry) return true;
  beat_asked_at_ = now;
  const CircuitBreaker::Permit permit = breaker_.allow(now);
  note_breaker(permit.transition);
  if (!permit.allowed) publish();
  return permit.allowed;
}

void NamespaceCoordinator::after_beat(Duration took, bool failed) {
  const MonoTime now = loop_.now();
  if (failed && breaker_counts_) {
    failure_counted_at_ = beat_asked_at_;
    if (!failing_since_) failing_since_ = beat_asked_at_;
    note_breaker(breaker_.failure(now));
  } else if (!failed) {
    failure_counted_at_.reset();
    const auto closed = breaker_.success(now);
    note_breaker(closed);
    if (closed) tell_outage(*closed);
    if (breaker_.status().state == CircuitState::kClosed) failing_since_.reset();
  }
  latencies_.record(took);
  count([&](CoordinatorMetrics& m) {
    ++m.heartbeat_count;
    if (failed) ++m.heartbeat_failures;
    m.last_heartbeat_time = loop_.wall_now();
  });
  if (const auto contention = contention_.cycle_completed(took, now)) {
    host_->emit(ContentionDetectedEvent{name_space_, contention->duration, contention->expected,
                                        contention->ratio});
    log_warn("contention detected", {{"namespace", name_space_},
                                     {"epoch", std::to_string(epoch().value())},
                                     {"took", format_duration(contention->duration)},
                                     {"expected", format_duration(contention->expected)}});
  }
  const auto& state = driver_.election().last_state();
  const bool leads = driver_.election().leads(now);
  if (leads) {
    // With each heartbeat, and not again when one comes early to publish what was found.
    roster_.beat(scale(options_.heartbeat_interval, 0.9));
  } else if (state && state->leader && state->leader != options_.worker_id) {
    // A leader that publishes no list: look for ourselves, seldom.
    if (state->workers.empty()) roster_.beat(options_.worker_timeout);
    if (!state->workers.empty()) roster_.adopt(*state);
  }
  if (!failed && !stopping_) registration_.beat(leads);
  check_plugins();
  publish();
}

void NamespaceCoordinator::note_breaker(const std::optional<CircuitTransition>& transition) {
  if (!transition) return;
  log_warn("circuit breaker changed", {{"namespace", name_space_},
                                       {"epoch", std::to_string(epoch().value())},
                                       {"state", to_string(transition->to)},
                                       {"failures", std::to_string(transition->failure_count)}});
  publish();  // First: who hears of it and asks must be told the same.
  host_->emit(CircuitBreakerEvent{name_space_, transition->to, transition->failure_count});
}

// A store that is out of reach cannot be told so. Afterwards the worker's file says it, and whoever
// keeps the store can show it to people.
void NamespaceCoordinator::tell_outage(const CircuitTransition& closed) {
  const auto lasted = std::chrono::duration_cast<std::chrono::milliseconds>(
      loop_.now() - failing_since_.value_or(loop_.now()));
  const std::uint64_t trips = breaker_.status().trips;
  registration_.report({loop_.wall_now() - lasted, lasted, closed.failure_count,
                        trips - std::exchange(trips_told_, trips)});
}

void NamespaceCoordinator::note_workers(std::size_t appeared, std::size_t timed_out) {
  count([&](CoordinatorMetrics& m) {
    m.worker_registrations += appeared;
    m.worker_timeouts += timed_out;
  });
  publish();
  host_->emit(WorkersUpdatedEvent{name_space_, roster_.live()});
  // Followers learn of it with the next renewal: now.
  if (driver_.election().leads(loop_.now()) && !stopping_) driver_.nudge();
}

void NamespaceCoordinator::check_plugins() {
  const auto running = host_->running_for();
  const bool stalled = running && *running > options_.lease_timeout;
  if (stalled && !stall_reported_) {
    report(TroubleEvent::Kind::kPluginStalled,
           "a plugin's callback has been running for " + format_duration(*running));
  }
  stall_reported_ = stalled;
}

// Plugins stop while the lease is still being renewed; only then is it released. A plugin that
// does not stop in time costs the successor a full lease: a release would be a lie.
void NamespaceCoordinator::hand_over(ResignOptions options, std::function<void()> done) {
  handed_over_ = std::move(done);
  auto stopped = std::make_shared<bool>(false);
  auto resign = lifetime_.wrap([this, options, stopped](bool in_time) mutable {
    if (std::exchange(*stopped, true)) return;
    options.without_receipt = !in_time;
    if (!in_time) {
      report(TroubleEvent::Kind::kPluginStalled,
             "a plugin did not stop in time; the lease is left to run out");
    }
    stop_timer_.arm(2 * options_.timings().request_timeout, [this] { on(Resigned{false}); });
    driver_.resign(options);
  });
  stop_timer_.arm(options_.timings().stop_budget, [resign]() mutable { resign(false); });
  host_->end_term([this, resign, alive = lifetime_.token()]() mutable {
    // This runs on the callbacks' loop, perhaps after this object's end.
    if (alive.expired()) return;
    loop_.post([resign]() mutable { resign(true); });
  });
}

void NamespaceCoordinator::stop(std::function<void()> done) {
  if (handed_over_) {
    // A hand-over is under way: its caller is answered first, then this begins.
    handed_over_ = [this, before = std::move(handed_over_), done = std::move(done)] {
      before();
      stop(done);
    };
    return;
  }
  if (std::exchange(stopping_, true) || !started_) return done();
  start_timer_.cancel();
  hand_over({.stop = true, .preferred = {}}, [this, done = std::move(done)] {
    stop_timer_.cancel();
    watch_.reset();
    registration_.stop(done);
  });
}

void NamespaceCoordinator::step_down(std::optional<WorkerId> preferred, Duration hold_off,
                                     std::function<void()> done) {
  if (stopping_ || handed_over_ || !driver_.election().leads(loop_.now())) return done();
  hand_over({.hold_off = hold_off, .preferred = std::move(preferred)},
            [this, done = std::move(done)] {
              stop_timer_.cancel();
              done();
            });
}

void NamespaceCoordinator::set_eligible(bool eligible) {
  driver_.set_eligible(eligible);
}

void NamespaceCoordinator::publish() {
  const Election& election = driver_.election();
  MutexLock lock(mutex_);
  shared_.guard = guard_;
  shared_.leader = election.leader(loop_.now());
  shared_.leader_until = election.leader_until();
  shared_.epoch = election.epoch();
  shared_.workers = roster_.live();
  shared_.metrics.heartbeat_latency = latencies_.summary();
  shared_.metrics.contention_events = contention_.occurrences();
  shared_.metrics.circuit_breaker = breaker_.status();
  shared_.metrics.election_durations.assign(election_durations_.counts().begin(),
                                            election_durations_.counts().end());
  shared_.metrics.election_duration_bounds.assign(election_durations_.bounds().begin(),
                                                  election_durations_.bounds().end());
}

bool NamespaceCoordinator::leads() const {
  MutexLock lock(mutex_);
  return shared_.guard && shared_.guard->valid();
}

Duration NamespaceCoordinator::lease_left() const {
  MutexLock lock(mutex_);
  if (!shared_.guard || !shared_.guard->valid()) return Duration(0);
  return std::max(Duration(0), shared_.guard->deadline() - loop_.now());
}

std::optional<WorkerId> NamespaceCoordinator::leader() const {
  MutexLock lock(mutex_);
  if (shared_.guard) {
    return shared_.guard->valid() ? std::optional(options_.worker_id) : std::nullopt;
  }
  return loop_.now() < shared_.leader_until ? shared_.leader : std::nullopt;
}

Epoch NamespaceCoordinator::epoch() const {
  MutexLock lock(mutex_);
  return shared_.epoch;
}

std::vector<WorkerId> NamespaceCoordinator::workers() const {
  MutexLock lock(mutex_);
  return shared_.workers;
}

CoordinatorMetrics NamespaceCoordinator::metrics() const {
  MutexLock lock(mutex_);
  CoordinatorMetrics metrics = shared_.metrics;
  metrics.epoch_drift_events = host_->epoch_drift_events();
  metrics.plugin_failures = host_->failures();
  return metrics;
}

}  // namespace muster
