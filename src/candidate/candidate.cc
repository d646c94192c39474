#include "candidate/candidate.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

ElectionConfig election_config(const CandidateOptions& options, Random& random) {
  ElectionConfig config;
  config.id = options.node;
  config.incarnation = Incarnation(random.uuid());
  config.terms = options.timings().terms;
  config.interval = options.renew_interval;
  config.jitter = *options.renew_jitter;
  config.retry_wait = std::min<Duration>(1s, options.lease / 15);
  config.turn_wait = config.retry_wait;
  return config;
}

ElectionDriver::Options driver_options(const std::string& name, const CandidateOptions& options) {
  ElectionDriver::Options result;
  result.name_space = name;
  result.request_timeout = options.request_timeout;
  result.heartbeat_interval = options.renew_interval;
  result.worker_timeout = options.worker_timeout;
  result.pod = options.pod;
  result.value = options.value;
  return result;
}

CandidateConfig machine_config(const CandidateOptions& options, const LeaderWork& work) {
  CandidateConfig config = options.machine();
  config.orderly_stop = work.stop_time();
  return config;
}

WorkerRecord worker_record(const std::string& name, const ElectionConfig& config,
                           const CandidateOptions& options) {
  WorkerRecord record;
  record.worker = config.id;
  record.incarnation = config.incarnation;
  record.pod = options.pod;
  record.plugin_name = "coordinator";
  record.name_space = name;
  if (!options.eligible) record.aside = to_string(CandidateState::kIneligible);
  return record;
}

}  // namespace

Candidate::Candidate(std::string name, const CandidateOptions& options, Surroundings surroundings)
    : Candidate(std::move(name), options.filled(), surroundings,
                election_config(options.filled(), surroundings.random)) {}

Candidate::Candidate(std::string name, const CandidateOptions& filled, Surroundings& surroundings,
                     ElectionConfig config)
    : name_(std::move(name)),
      options_(filled),
      loop_(surroundings.loop),
      store_(surroundings.store),
      work_(surroundings.work),
      listener_(std::move(surroundings.listener)),
      probe_(std::move(surroundings.probe)),
      random_(surroundings.random.next()),
      machine_(machine_config(options_, work_), Random(random_.next())),
      monitor_(config.incarnation),
      driver_(loop_, store_, config, driver_options(name_, options_),
              {.on_event = [this](const ElectionEvent& event) { on(event); },
               .workers = [this] { return roster_.live(); },
               .timeouts = [this] { return roster_.timeouts(); },
               .not_before = {},
               .on_beat = [this](MonoTime, bool failed) { after_beat(failed); }},
              Random(random_.next())),
      registration_(loop_, store_, driver_.keys().worker(config.id),
                    worker_record(name_, config, options_),
                    {.worker_timeout = options_.worker_timeout,
                     .request_timeout = options_.request_timeout,
                     .retry_wait = config.retry_wait,
                     .heartbeat_interval = options_.renew_interval},
                    {.on_duplicate = [this](const Incarnation& o) { on(DuplicateWorker{o}); },
                     .on_error = [this](const Error& e) { on(StoreTrouble{e}); }},
                    Random(random_.next())),
      roster_(loop_, store_, driver_.keys(),
              {.self = config.id,
               .worker_timeout = options_.worker_timeout,
               .request_timeout = options_.request_timeout,
               .sweep_after = 10 * options_.worker_timeout},
              {.on_change = [](std::size_t, std::size_t) {},
               .on_error = [this](const Error& e) { on(StoreTrouble{e}); },
               .on_self = [this](const std::optional<Revision>& revision,
                                 MonoTime began) { registration_.listed(revision, began); }},
              Random(random_.next())),
      control_(
          loop_, store_, driver_.keys().control, config.id, options_.request_timeout,
          {.offer = [this](const ControlCommand& command) { return is_for_me(command); },
           .accepted = [this](const ControlCommand& command) { obey(command); },
           .on_error = [this](const Error& e) { on(StoreTrouble{e}); },
           .on_bad =
               [this](const Error& error) {
                 tell(telemetry::Trouble{telemetry::Trouble::Kind::kBadControl, error.message});
               }}),
      timer_(loop_),
      check_timer_(loop_),
      probe_timer_(loop_) {}

Candidate::~Candidate() {
  if (guard_) guard_->close();
}

void Candidate::start() {
  if (std::exchange(started_, true) || stopping_) return;
  check_timer_.arm(options_.election_interval, [this] { check(); });
  begin();
}

// A store that only pretends to compare and swap would elect two: it is refused before anything.
void Candidate::begin() {
  if (!probe_) return probed(Done{});
  probe_(lifetime_.wrap([this](const Status& safe) { probed(safe); }));
}

void Candidate::probed(const Status& safe) {
  if (stopping_) return;
  if (safe.is(Errc::kUnsupported)) {
    return tell(telemetry::Trouble{telemetry::Trouble::Kind::kUnsafeStore, safe.error().message});
  }
  if (!safe) {
    // Not reachable now: that says nothing about its fitness.
    on(StoreTrouble{safe.error()});
    probe_timer_.arm(failures_.until_next_probe(safe.error(), options_.renew_interval),
                     [this] { begin(); });
    return;
  }
  registration_.start(lifetime_.wrap([this] { take_part(); }));
}

void Candidate::take_part() {
  if (stopping_) return;
  took_part_ = true;
  run(machine_.start(loop_.now()));
  watch_store();
  driver_.start();
}

void Candidate::watch_store() {
  if (!store_.capabilities().watch) return;
  state_watch_ = store_.watch(driver_.keys().state, {}, [this](const WatchEvent& event) {
    // The holder learns nothing from its own renewals, and of a replacement by its next one. After
    // a reset nothing is known, not even whether this is the same store, so it renews at once.
    const bool reset = event.kind == WatchEvent::Kind::kReset;
    if (reset || !driver_.election().leads(loop_.now())) driver_.nudge();
  });
  control_watch_ =
      store_.watch(driver_.keys().control, {}, [this](const WatchEvent&) { look_for_commands(); });
}

// Heartbeats look as well, and oftener unless the lease is long: then this look notices first that
// nobody leads.
void Candidate::check() {
  check_timer_.arm(options_.election_interval, [this] { check(); });
  const MonoTime now = loop_.now();
  const bool old = now - looked_at_ >= options_.election_interval / 2;
  if (took_part_ && !stopping_ && old && !driver_.election().leads(now)) driver_.nudge();
  tell(telemetry::ElectionCheck{current_leader()});
}

void Candidate::stop(std::function<void()> done) {
  if (gone_) return done();
  stopped_.push_back(std::move(done));
  if (std::exchange(stopping_, true)) return;
  probe_timer_.cancel();
  run(machine_.stop(loop_.now()));
}

void Candidate::pause() {
  run(machine_.pause(loop_.now()));
}

void Candidate::resume() {
  run(machine_.resume(loop_.now()));
}

void Candidate::step_down(std::optional<WorkerId> preferred) {
  run(machine_.step_down(std::move(preferred), loop_.now()));
}

void Candidate::set_eligible(bool eligible) {
  run(machine_.set_eligible(eligible, loop_.now()));
}

void Candidate::after_beat(bool failed) {
  store_answers_ = !failed;
  looked_at_ = loop_.now();
  // A store that answers reads and fails every write has not recovered.
  const bool troubled = std::exchange(trouble_seen_, false);
  if (!failed && !troubled) {
    store_failing_ = false;
    store_trouble_.clear();
  }
  const MonoTime now = loop_.now();
  const auto& state = driver_.election().last_state();
  const bool leads = driver_.election().leads(now);
  if (leads) {
    roster_.beat(scale(options_.worker_timeout, 0.45));
  } else if (state && !state->workers.empty()) {
    roster_.adopt(*state);
  }
  if (!failed && !stopping_) registration_.beat();
  look_for_commands();
  look(!failed);
}

// Only who may be meant looks: a command is judged when it is first seen, and one for a term that
// this node is about to begin must not be refused before it has.
void Candidate::look_for_commands() {
  const bool leads = driver_.election().leads(loop_.now());
  if (leads || control_.owes() || machine_.paused()) control_.look();
}

// What the election knows about other leaders, for the monitor and through it for the machine.
void Candidate::look(bool answered) {
  const Election& election = driver_.election();
  const MonoTime now = loop_.now();
  if (election.leads(now)) return publish();
  note(answered ? monitor_.observed(election.last_state(), election.epoch() > Epoch(0),
                                    election.leader_until(), now)
                : monitor_.unanswered(now));
  run(machine_.see(monitor_.view(), now));
}

void Candidate::note(const std::vector<MonitorEvent>& events) {
  for (const MonitorEvent& event : events) {
    if (const auto* down = std::get_if<LeaderWentDown>(&event)) {
      tell(telemetry::LeaderDown{down->former.worker, down->former.epoch, down->cause});
    } else if (const auto* alive = std::get_if<LeaderAlive>(&event)) {
      tell(telemetry::LeaderAlive{alive->leader.worker, alive->leader.epoch});
    }
  }
}

void Candidate::wake() {
  const MonoTime now = loop_.now();
  note(monitor_.tick(now));
  run(machine_.see(monitor_.view(), now));
  run(machine_.tick(now));
}

void Candidate::arm() {
  const MonoTime due = std::min(machine_.wake_at(), monitor_.wake_at());
  if (due == MonoTime::max() || !took_part_) {
    timer_.cancel();
  } else {
    timer_.arm(due, [this] { wake(); });
  }
}

// A command is for one term; only a paused node may be told to resume.
bool Candidate::is_for_me(const ControlCommand& command) const {
  if (command.kind == ControlKind::kResume) {
    const bool named = !command.worker || command.worker == options_.node;
    return named && machine_.paused();
  }
  const bool working =
      machine_.state() == CandidateState::kStarting || machine_.state() == CandidateState::kLeading;
  return working && machine_.epoch() == command.epoch;
}

void Candidate::obey(const ControlCommand& command) {
  tell(telemetry::CommandAccepted{command.id, to_string(command.kind)});
  switch (command.kind) {
    case ControlKind::kStepDown:
      return step_down({});
    case ControlKind::kTransfer:
      return step_down(command.worker);
    case ControlKind::kPause:
      return pause();
    case ControlKind::kResume:
      return resume();
  }
}

void Candidate::publish() {
  const Election& election = driver_.election();
  MutexLock lock(mutex_);
  shared_.state = machine_.state();
  shared_.guard = guard_;
  const auto& state = election.last_state();
  const std::optional<WorkerId> leader = election.leader(loop_.now());
  shared_.leader.reset();
  if (leader && state) shared_.leader = SeenLeader{*leader, state->epoch, state->value};
  shared_.leader_until = election.leader_until();
  shared_.epoch = election.epoch();
  shared_.metrics.short_terms = machine_.short_terms();
}

CandidateState Candidate::state() const {
  MutexLock lock(mutex_);
  return shared_.state;
}

bool Candidate::leads() const {
  MutexLock lock(mutex_);
  return shared_.guard && shared_.guard->valid();
}

Duration Candidate::lease_left() const {
  MutexLock lock(mutex_);
  if (!shared_.guard || !shared_.guard->valid()) return Duration(0);
  return std::max(Duration(0), shared_.guard->deadline() - loop_.now());
}

std::optional<WorkerId> Candidate::current_leader() const {
  const std::optional<SeenLeader> leader = seen_leader();
  return leader ? std::optional(leader->worker) : std::nullopt;
}

std::optional<Candidate::SeenLeader> Candidate::seen_leader() const {
  MutexLock lock(mutex_);
  if (const auto& guard = shared_.guard) {
    if (!guard->valid()) return {};
    return SeenLeader{options_.node, guard->epoch(), options_.value};
  }
  return loop_.now() < shared_.leader_until ? shared_.leader : std::nullopt;
}

Epoch Candidate::epoch() const {
  MutexLock lock(mutex_);
  return shared_.epoch;
}

telemetry::Metrics Candidate::metrics() const {
  MutexLock lock(mutex_);
  return shared_.metrics;
}

}  // namespace muster
