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
               .not_before = [this](MonoTime now) { return not_before(now); },
               .on_beat = [this](MonoTime began, bool failed) { after_beat(began, failed); }},
              Random(random_.next())),
      registration_(loop_, store_, driver_.keys().worker(config.id),
                    worker_record(name_space_, config, options_),
                    {.worker_timeout = options_.worker_timeout,
                     .request_timeout = options_.timings().request_timeout,
                     .retry_wait = config.retry_wait,
                     .heartbeat_interval = options_.heartbeat_interval},
                    {.on_duplicate = [this](const Incarnation& o) { on(DuplicateWorker{o}); },
                     .on_error = [this](const Error& e) { on(StoreTrouble{e}); }},
                    Random(random_.next())),
      roster_(loop_, store_, driver_.keys(),
              {.self = config.id,
               .worker_timeout = options_.worker_timeout,
               .request_timeout = options_.timings().request_timeout,
               .sweep_after = 10 * options_.worker_timeout},
              {.on_change = [this](std::size_t a, std::size_t t) { note_workers(a, t); },
               .on_error = [this](const Error& e) { on(StoreTrouble{e}); },
               .on_control =
                   [this](const Revision& revision) {
                     if (driver_.election().leads(loop_.now())) control_.listed(revision);
                   },
               .on_self = [this](const std::optional<Revision>& revision,
                                 MonoTime began) { registration_.listed(revision, began); }},
              Random(random_.next())),
      control_(
          loop_, store_, driver_.keys().control, config.id, options_.timings().request_timeout,
          {.offer = [this](const ControlCommand& command) { return is_for_me(command); },
           .accepted = [this](const ControlCommand& command) { obey(command); },
           .on_error = [this](const Error& e) { on(StoreTrouble{e}); },
           .on_bad =
               [this](const Error& e) { report(TroubleEvent::Kind::kBadControl, e.message); }}),
      breaker_(options_.circuit_breaker, options_.heartbeat_interval),
      contention_(options_.contention, options_.heartbeat_interval),
      latencies_(options_.metrics_buffer_size),
      election_durations_(Histogram::for_elections()),
      start_timer_(loop_),
      stop_timer_(loop_),
      hold_off_timer_(loop_) {
  MutexLock lock(mutex_);
  shared_.workers = roster_.live();
  shared_.metrics.start_time = loop_.wall_now();
}

NamespaceCoordinator::~NamespaceCoordinator() {
  if (guard_) guard_->close();
}

void NamespaceCoordinator::start() {
  if (std::exchange(started_, true)) return;
  if (!options_.enable_coordinator) set_eligible(false);
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
    start_timer_.arm(failures_.until_next_probe(safe.error(), options_.heartbeat_interval),
                     [this] { begin(); });
    return;
  }
  registration_.start(lifetime_.wrap([this] { take_part(); }));
  count([](CoordinatorMetrics& m) { ++m.worker_registrations; });
}

void NamespaceCoordinator::take_part() {
  if (stopping_) return;
  watch_store();
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
                          " created the election with: heartbeat " +
                          format_duration(metadata->heartbeat_interval) + ", lease " +
                          format_duration(metadata->lease_timeout) + ", worker timeout " +
                          format_duration(metadata->worker_timeout));
             }));
}

void NamespaceCoordinator::watch_store() {
  if (!store_.capabilities().watch) return;
  control_watch_ =
      store_.watch(driver_.keys().control, {}, [this](const WatchEvent&) { look_for_commands(); });
  state_watch_ = store_.watch(driver_.keys().state, {}, [this](const WatchEvent& event) {
    // The holder learns nothing from its own renewals, and of a replacement by its next one. After
    // a reset nothing is known, not even whether this is the same store, so it renews at once.
    const bool reset = event.kind == WatchEvent::Kind::kReset;
    if (reset || !driver_.election().leads(loop_.now())) driver_.nudge();
  });
}

MonoTime NamespaceCoordinator::not_before(MonoTime now) {
  const CircuitBreaker::Permit permit = breaker_.ask(now, driver_.election().leads(now));
  note_breaker(permit.transition);
  if (permit.not_before > now) publish();
  return permit.not_before;
}

void NamespaceCoordinator::after_beat(MonoTime began, bool failed) {
  const MonoTime now = loop_.now();
  if (failed) {
    if (!failing_since_) failing_since_ = began;
    note_breaker(breaker_.failure(now));
  } else {
    const auto closed = breaker_.success(now);
    note_breaker(closed);
    if (closed) tell_outage(*closed);
    failing_since_.reset();
  }
  latencies_.record(now - began);
  count([&](CoordinatorMetrics& m) {
    ++m.heartbeat_count;
    if (failed) ++m.heartbeat_failures;
    m.last_heartbeat_time = loop_.wall_now();
  });
  note_contention(contention_.attempted(began, now, !failed));
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
  // Only while something was asked: else a watch, or the list of workers, shows that there is more.
  if (control_.owes() || paused_) control_.look();
  check_plugins();
  publish();
}

void NamespaceCoordinator::note_contention(const std::optional<ContentionEvent>& late) {
  if (!late) return;
  host_->emit(ContentionDetectedEvent{name_space_, late->duration, late->expected, late->ratio});
  log_warn("contention detected", {{"namespace", name_space_},
                                   {"epoch", std::to_string(epoch().value())},
                                   {"took", format_duration(late->duration)},
                                   {"expected", format_duration(late->expected)}});
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

// A store that is out of reach cannot be told so. Afterwards the worker's file says it, and
// the store can show it to people.
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
  if (guard_) guard_->request_stop();
  auto stopped = std::make_shared<bool>(false);
  auto resign = lifetime_.wrap([this, options, stopped](bool in_time) mutable {
    if (std::exchange(*stopped, true)) return;
    options.without_receipt = !in_time;
    if (!in_time) {
      report(TroubleEvent::Kind::kPluginStalled,
             "a plugin did not stop in time; the lease expires instead of being released");
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
    state_watch_.reset();
    control_watch_.reset();
    registration_.stop(done);
  });
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
  shared_.metrics.heartbeat_latencies = latencies_.samples();
  shared_.metrics.contention_events = contention_.occurrences();
  shared_.metrics.circuit_breaker = breaker_.status();
  shared_.metrics.election_durations.assign(election_durations_.counts().begin(),
                                            election_durations_.counts().end());
  shared_.metrics.election_duration_bounds.assign(election_durations_.bounds().begin(),
                                                  election_durations_.bounds().end());
  shared_.metrics.election_duration_sum = election_durations_.sum();
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
