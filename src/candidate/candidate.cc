#include "candidate/candidate.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

Participant::Options participant_options(const std::string& name, const CandidateOptions& options) {
  Participant::Options result;
  result.name = name;
  result.id = options.node;
  result.pod = options.pod;
  result.value = options.value;
  if (!options.eligible) result.aside = to_string(CandidateState::kIneligible);
  result.terms = options.timings().terms;
  result.request_timeout = options.request_timeout;
  result.heartbeat_interval = options.renew_interval;
  result.heartbeat_jitter = *options.renew_jitter;
  result.worker_timeout = options.worker_timeout;
  result.list_interval = scale(options.worker_timeout, 0.45);
  return result;
}

CandidateConfig machine_config(const CandidateOptions& options, const LeaderWork& work) {
  CandidateConfig config = options.machine();
  config.orderly_stop = work.stop_time();
  return config;
}

}  // namespace

Candidate::Candidate(std::string name, const CandidateOptions& options, Surroundings surroundings)
    : name_(std::move(name)),
      options_(options.filled()),
      loop_(surroundings.loop),
      work_(surroundings.work),
      listener_(std::move(surroundings.listener)),
      machine_(machine_config(options_, work_), Random(surroundings.random.next())),
      participant_(participant_options(name_, options_),
                   {.loop = loop_,
                    .store = surroundings.store,
                    .random = Random(surroundings.random.next()),
                    .probe = std::move(surroundings.probe)},
                   *this),
      monitor_(participant_.incarnation()),
      timer_(loop_),
      check_timer_(loop_) {}

void Candidate::start() {
  if (std::exchange(started_, true) || stopping_) return;
  check_timer_.arm(options_.election_interval, [this] { check(); });
  participant_.start(Duration(0));
}

void Candidate::on_unsafe_store(const Error& why) {
  tell(telemetry::Trouble{telemetry::Trouble::Kind::kUnsafeStore, why.message});
}

void Candidate::on_bad_command(const Error& why) {
  tell(telemetry::Trouble{telemetry::Trouble::Kind::kBadControl, why.message});
}

void Candidate::on_start() {
  took_part_ = true;
  run(machine_.start(loop_.now()));
}

// Heartbeats look as well, and oftener unless the lease is long: then this look notices first that
// nobody leads.
void Candidate::check() {
  check_timer_.arm(options_.election_interval, [this] { check(); });
  const MonoTime now = loop_.now();
  const bool old = now - looked_at_ >= options_.election_interval / 2;
  if (took_part_ && !stopping_ && old && !participant_.leads_now()) participant_.nudge();
  tell(telemetry::ElectionCheck{current_leader()});
}

void Candidate::stop(std::function<void()> done) {
  if (gone_) return done();
  stopped_.push_back(std::move(done));
  if (std::exchange(stopping_, true)) return;
  participant_.retire();
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

void Candidate::on_beat(MonoTime, bool failed) {
  store_answers_ = !failed;
  looked_at_ = loop_.now();
  // A store that answers reads and fails every write has not recovered.
  const bool troubled = std::exchange(trouble_seen_, false);
  if (!failed && !troubled) {
    store_failing_ = false;
    store_trouble_.clear();
  }
  look(!failed);
}

// What the election knows about other leaders, for the monitor and through it for the machine.
void Candidate::look(bool answered) {
  const Election& election = participant_.election();
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
  participant_.publish();
  MutexLock lock(mutex_);
  shared_.state = machine_.state();
  shared_.metrics.short_terms = machine_.short_terms();
}

CandidateState Candidate::state() const {
  MutexLock lock(mutex_);
  return shared_.state;
}

std::optional<WorkerId> Candidate::current_leader() const {
  const std::optional<Participant::SeenLeader> leader = seen_leader();
  return leader ? std::optional(leader->worker) : std::nullopt;
}

telemetry::Metrics Candidate::metrics() const {
  MutexLock lock(mutex_);
  return shared_.metrics;
}

}  // namespace muster
