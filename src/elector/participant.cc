#include "elector/participant.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

ElectionConfig election_config(const Participant::Options& options, Random& random) {
  ElectionConfig config;
  config.id = options.id;
  config.incarnation = options.incarnation.value_or(Incarnation(random.uuid()));
  config.terms = options.terms;
  config.interval = options.heartbeat_interval;
  config.jitter = options.heartbeat_jitter;
  config.retry_wait = std::min<Duration>(1s, options.terms.lease / 15);
  config.turn_wait = config.retry_wait;
  config.renews_when_told = options.renews_when_told;
  config.resumed = options.resumed;
  return config;
}

ElectionDriver::Options driver_options(const Participant::Options& options) {
  ElectionDriver::Options result;
  result.name_space = options.name;
  result.request_timeout = options.request_timeout;
  result.heartbeat_interval = options.heartbeat_interval;
  result.worker_timeout = options.worker_timeout;
  result.pod = options.pod;
  result.value = options.value;
  return result;
}

WorkerRecord worker_record(const Participant::Options& options, const ElectionConfig& config) {
  WorkerRecord record;
  record.worker = config.id;
  record.incarnation = config.incarnation;
  record.pod = options.pod;
  record.plugin_name = "coordinator";
  record.name_space = options.name;
  record.aside = options.aside;
  return record;
}

}  // namespace

Participant::Participant(Options options, Deps deps, ParticipantFront& front)
    : Participant(options, deps, front, election_config(options, deps.random)) {}

Participant::Participant(Options options, Deps& deps, ParticipantFront& front,
                         const ElectionConfig& config)
    : options_(std::move(options)),
      incarnation_(config.incarnation),
      loop_(deps.loop),
      store_(deps.store),
      front_(front),
      probe_(std::move(deps.probe)),
      random_(deps.random.next()),
      driver_(loop_, store_, config, driver_options(options_),
              {.on_event = [this](const ElectionEvent& event) { on(event); },
               .workers = [this] { return roster_.live(); },
               .timeouts = [this] { return roster_.timeouts(); },
               .not_before = [this](MonoTime now) { return front_.not_before(now); },
               .on_beat = [this](MonoTime began, bool failed) { after_beat(began, failed); }},
              Random(random_.next())),
      registration_(loop_, store_, driver_.keys().worker(config.id),
                    worker_record(options_, config),
                    {.worker_timeout = options_.worker_timeout,
                     .request_timeout = options_.request_timeout,
                     .retry_wait = config.retry_wait,
                     .heartbeat_interval = options_.heartbeat_interval},
                    {.on_duplicate = [this](const Incarnation& o) { on(DuplicateWorker{o}); },
                     .on_error = [this](const Error& e) { on(StoreTrouble{e}); }},
                    Random(random_.next())),
      roster_(loop_, store_, driver_.keys(),
              {.self = config.id,
               .worker_timeout = options_.worker_timeout,
               .request_timeout = options_.request_timeout,
               .sweep_after = 10 * options_.worker_timeout},
              {.on_change = [this](std::size_t a, std::size_t t) { front_.on_workers(a, t); },
               .on_error = [this](const Error& e) { on(StoreTrouble{e}); },
               .on_control =
                   [this](const Revision& revision) {
                     if (options_.list_shows_commands && leads_now()) control_.listed(revision);
                   },
               .on_self = [this](const std::optional<Revision>& revision,
                                 MonoTime began) { registration_.listed(revision, began); }},
              Random(random_.next())),
      control_(
          loop_, store_, driver_.keys().control, config.id, options_.request_timeout,
          {.offer = [this](const ControlCommand& command) { return front_.is_for_me(command); },
           .accepted = [this](const ControlCommand& command) { front_.obey(command); },
           .on_error = [this](const Error& e) { on(StoreTrouble{e}); },
           .on_bad = [this](const Error& e) { front_.on_bad_command(e); }}),
      start_timer_(loop_) {}

Participant::~Participant() {
  if (guard_) guard_->close();
}

void Participant::start(Duration delay) {
  start_timer_.arm(delay, [this] { begin(); });
}

// A store that only pretends to compare and swap would elect two: it is refused before anything.
void Participant::begin() {
  if (!probe_) return probed(Done{});
  probe_(lifetime_.wrap([this](const Status& safe) { probed(safe); }));
}

void Participant::probed(const Status& safe) {
  if (retired_) return;
  if (safe.is(Errc::kUnsupported)) return front_.on_unsafe_store(safe.error());
  if (!safe) {
    // Not reachable now: that says nothing about its fitness.
    on(StoreTrouble{safe.error()});
    return start(failures_.until_next_probe(safe.error(), options_.heartbeat_interval));
  }
  registration_.start(lifetime_.wrap([this] { take_part(); }));
}

void Participant::take_part() {
  if (retired_) return;
  front_.on_start();
  watch_store();
  driver_.start();
}

void Participant::watch_store() {
  if (!store_.capabilities().watch) return;
  state_watch_ = store_.watch(driver_.keys().state, {}, [this](const WatchEvent& event) {
    // The holder learns nothing from its own renewals, and of a replacement by its next one. After
    // a reset nothing is known, not even whether this is the same store, so it renews at once.
    const bool reset = event.kind == WatchEvent::Kind::kReset;
    if (reset || !leads_now()) driver_.nudge();
  });
  // Only a worker that may be meant reads the command: it is judged when it is first seen, and one
  // for a term that this worker is about to begin must not be refused before it has begun.
  control_watch_ = store_.watch(driver_.keys().control, {}, [this](const WatchEvent&) {
    if (leads_now() || control_.owes() || front_.paused()) control_.look();
  });
}

void Participant::retire() {
  retired_ = true;
  start_timer_.cancel();
}

void Participant::leave(std::function<void()> done) {
  state_watch_.reset();
  control_watch_.reset();
  registration_.stop(std::move(done));
}

void Participant::on(const ElectionEvent& event) {
  if (const auto* began = std::get_if<BecameLeader>(&event)) {
    guard_ = std::make_shared<LeaseGuard>(loop_, began->epoch, began->deadline);
    roster_.forget();
  } else if (const auto* renewed = std::get_if<LeaseRenewed>(&event)) {
    if (guard_) guard_->extend(renewed->deadline);
  } else if (std::holds_alternative<LostLeadership>(event)) {
    if (guard_) guard_->close();
    guard_.reset();
    roster_.forget();
  }
  front_.on(event);
}

void Participant::after_beat(MonoTime began, bool failed) {
  front_.on_beat(began, failed);
  list_workers();
  const bool leads = leads_now();
  if (!failed && !retired_) registration_.beat(leads);
  const bool reads = leads && !options_.list_shows_commands;
  if (reads || control_.owes() || front_.paused()) control_.look();
}

void Participant::list_workers() {
  const auto& state = election().last_state();
  if (leads_now()) {
    roster_.beat(options_.list_interval);
  } else if (state && state->leader && state->leader != options_.id) {
    // A leader that publishes no list: look for ourselves, seldom.
    if (state->workers.empty()) roster_.beat(options_.worker_timeout);
    if (!state->workers.empty()) roster_.adopt(*state);
  }
}

void Participant::publish() {
  const std::optional<WorkerId> leader = election().leader(loop_.now());
  const auto& state = election().last_state();
  MutexLock lock(mutex_);
  shared_.guard = guard_;
  shared_.leader.reset();
  if (leader && state) shared_.leader = SeenLeader{*leader, state->epoch, state->value};
  shared_.leader_until = election().leader_until();
  shared_.epoch = election().epoch();
}

bool Participant::leads() const {
  MutexLock lock(mutex_);
  return shared_.guard && shared_.guard->valid();
}

Duration Participant::lease_left() const {
  MutexLock lock(mutex_);
  if (!shared_.guard || !shared_.guard->valid()) return Duration(0);
  return std::max(Duration(0), shared_.guard->deadline() - loop_.now());
}

std::optional<Participant::SeenLeader> Participant::leader() const {
  MutexLock lock(mutex_);
  if (const auto& guard = shared_.guard) {
    if (!guard->valid()) return {};
    return SeenLeader{options_.id, guard->epoch(), options_.value};
  }
  return loop_.now() < shared_.leader_until ? shared_.leader : std::nullopt;
}

Epoch Participant::epoch() const {
  MutexLock lock(mutex_);
  return shared_.epoch;
}

}  // namespace muster
