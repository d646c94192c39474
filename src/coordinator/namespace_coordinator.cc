#include "coordinator/namespace_coordinator.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace muster {
namespace {

Participant::Options participant_options(const std::string& name_space,
                                         const CoordinatorOptions& options) {
  Participant::Options result;
  result.name = name_space;
  result.id = options.worker_id;
  result.pod = options.pod;
  result.terms = options.timings().terms;
  result.request_timeout = options.timings().request_timeout;
  result.heartbeat_interval = options.heartbeat_interval;
  result.heartbeat_jitter = options.heartbeat_jitter;
  result.worker_timeout = options.worker_timeout;
  // With each heartbeat, and not again when one comes early to publish what was found.
  result.list_interval = scale(options.heartbeat_interval, 0.9);
  result.list_shows_commands = true;
  return result;
}

}  // namespace

NamespaceCoordinator::NamespaceCoordinator(std::string name_space, CoordinatorOptions options,
                                           Surroundings surroundings)
    : name_space_(std::move(name_space)),
      options_(std::move(options)),
      loop_(surroundings.loop),
      store_(surroundings.store),
      random_(surroundings.random.next()),
      host_(std::make_shared<PluginHost>(surroundings.callbacks, loop_, name_space_,
                                         options_.epoch_fencing)),
      participant_(participant_options(name_space_, options_),
                   {.loop = loop_,
                    .store = store_,
                    .random = Random(random_.next()),
                    .probe = std::move(surroundings.probe)},
                   *this),
      breaker_(options_.circuit_breaker, options_.heartbeat_interval),
      contention_(options_.contention, options_.heartbeat_interval),
      latencies_(options_.metrics_buffer_size),
      election_durations_(Histogram::for_elections()),
      stop_timer_(loop_),
      hold_off_timer_(loop_) {
  MutexLock lock(mutex_);
  shared_.workers = participant_.live();
  shared_.metrics.start_time = loop_.wall_now();
}

void NamespaceCoordinator::start() {
  if (std::exchange(started_, true)) return;
  if (!options_.enable_coordinator) set_eligible(false);
  participant_.start(random_.between(options_.startup_jitter_min, options_.startup_jitter_max));
}

void NamespaceCoordinator::on_unsafe_store(const Error& why) {
  report(TroubleEvent::Kind::kUnsafeStore, why.message);
}

void NamespaceCoordinator::on_bad_command(const Error& why) {
  report(TroubleEvent::Kind::kBadControl, why.message);
}

void NamespaceCoordinator::on_start() {
  count([](CoordinatorMetrics& m) { ++m.worker_registrations; });
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
  store_.get(participant_.keys().metadata, {}, loop_.now() + options_.timings().request_timeout,
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

MonoTime NamespaceCoordinator::not_before(MonoTime now) {
  const CircuitBreaker::Permit permit = breaker_.ask(now, participant_.leads_now());
  note_breaker(permit.transition);
  if (permit.not_before > now) publish();
  return permit.not_before;
}

void NamespaceCoordinator::on_beat(MonoTime began, bool failed) {
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
  participant_.tell_outage({loop_.wall_now() - lasted, lasted, closed.failure_count,
                            trips - std::exchange(trips_told_, trips)});
}

void NamespaceCoordinator::on_workers(std::size_t appeared, std::size_t timed_out) {
  count([&](CoordinatorMetrics& m) {
    m.worker_registrations += appeared;
    m.worker_timeouts += timed_out;
  });
  publish();
  host_->emit(WorkersUpdatedEvent{name_space_, participant_.live()});
  // Followers learn of it with the next renewal: now.
  if (participant_.leads_now() && !stopping_) participant_.nudge();
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
  if (const auto& guard = participant_.guard()) guard->request_stop();
  auto stopped = std::make_shared<bool>(false);
  auto resign = lifetime_.wrap([this, options, stopped](bool in_time) mutable {
    if (std::exchange(*stopped, true)) return;
    options.without_receipt = !in_time;
    if (!in_time) {
      report(TroubleEvent::Kind::kPluginStalled,
             "a plugin did not stop in time; the lease expires instead of being released");
    }
    stop_timer_.arm(2 * options_.timings().request_timeout, [this] { handle(Resigned{false}); });
    participant_.resign(options);
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
  participant_.retire();
  hand_over({.stop = true, .preferred = {}}, [this, done = std::move(done)] {
    stop_timer_.cancel();
    participant_.leave(done);
  });
}

void NamespaceCoordinator::publish() {
  participant_.publish();
  MutexLock lock(mutex_);
  shared_.workers = participant_.live();
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

std::optional<WorkerId> NamespaceCoordinator::leader() const {
  const std::optional<Participant::SeenLeader> leader = participant_.leader();
  return leader ? std::optional(leader->worker) : std::nullopt;
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
