#include "elector/lock_taker.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/text.h"
#include "core/election/lease.h"

namespace muster {
namespace {

/// A shorter time would be lost to the scheduler.
constexpr Duration kTtlMin = 100ms;

LockMachine::Config machine_config(const LockTaker::Options& options, Random& random) {
  LockMachine::Config config;
  config.shape = options.shape;
  config.writes = options.writes;
  config.first = static_cast<std::uint32_t>(1 + random.below(options.shape.permits));
  config.resumes = !options.resumed.empty();
  if (config.resumes && !options.writes) config.first = options.resumed.front().permit;
  config.once = options.once;
  config.give_up_at = options.give_up_at;
  return config;
}

Error lost_error(const std::string& name, LossReason reason) {
  const std::string lock = "the lock " + name + " was lost: ";
  switch (reason) {
    case LossReason::kReplaced:
      return {Errc::kConflict, lock + "another process has taken it over"};
    case LossReason::kStateLost:
      return {Errc::kCorrupt, lock + "its state in the store is gone or damaged"};
    case LossReason::kExpired:
    case LossReason::kReleased:
    case LossReason::kLeftToExpire:
      break;
  }
  return {Errc::kUnavailable, lock + "it was not renewed within its ttl"};
}

}  // namespace

LockTaker::LockTaker(Options options, Deps deps, Hooks hooks)
    : options_(std::move(options)),
      keys_(options_.name),
      loop_(deps.loop),
      store_(deps.store),
      random_(deps.random.next()),
      probe_(std::move(deps.probe)),
      memory_(deps.memory),
      hooks_(std::move(hooks)),
      interval_(options_.ttl / 5),
      request_timeout_(LeaseTimings::for_lease(options_.ttl, interval_).request_timeout),
      machine_(machine_config(options_, random_)),
      parts_(options_.shape.permits + 1),
      timer_(loop_),
      retry_timer_(loop_) {}

LockTaker::~LockTaker() {
  if (guard_) guard_->close();
}

Status LockTaker::validate(const Options& options) {
  if (Status good = validate_name("lock name", options.name); !good) return good;
  if (options.ttl < kTtlMin || options.ttl > kLeaseMax) {
    return invalid("the ttl of a lock must be between " + format_duration(kTtlMin) + " and " +
                   format_duration(kLeaseMax));
  }
  if (options.shape.permits < 1 || options.shape.permits > kPermitsMax) {
    return invalid("the permits of a lock must be between 1 and " + std::to_string(kPermitsMax));
  }
  return LeaseTimings::for_lease(options.ttl, options.ttl / 5).validate();
}

// Before the machine: is the store safe, and does every process mean the same lock?

void LockTaker::start() {
  trouble_ = store_.describe() + " has not answered yet";
  if (options_.give_up_at != MonoTime::max()) arm();
  probe();
}

void LockTaker::probe() {
  if (!probe_) return probed(Done{});
  probe_(lifetime_.wrap([this](const Status& safe) { probed(safe); }));
}

void LockTaker::probed(const Status& safe) {
  if (ending_) return;
  if (!safe) return retry(safe.error(), &LockTaker::probe);
  read_shape();
}

void LockTaker::read_shape() {
  store_.get(keys_.shape, {}, by(),
             lifetime_.wrap([this](const Result<Object>& object) { shape_read(object); }));
}

void LockTaker::shape_read(const Result<Object>& object) {
  if (ending_) return;
  if (object.is(Errc::kNotFound)) return make_shape();
  if (!object) return retry(object.error(), &LockTaker::read_shape);
  const Result<LockShape> shape = decode_whole(*object, decode_lock_shape);
  if (!shape)
    return fail({shape.code(), "the lock " + options_.name + ": " + shape.error().message});
  if (*shape != options_.shape) {
    return fail(invalid("the lock " + options_.name + " is " + to_string(*shape) +
                        " in the store, and this process wants " + to_string(options_.shape)));
  }
  begin();
}

void LockTaker::make_shape() {
  store_.put(keys_.shape, encode(options_.shape, Nonce(random_.uuid())), Precondition::absent(),
             by(), lifetime_.wrap([this](const Result<Revision>& made) {
               if (ending_) return;
               if (made) return begin();
               const bool unclear = made.is(Errc::kConflict) || made.is(Errc::kAmbiguous);
               if (unclear) return read_shape();
               retry(made.error(), &LockTaker::read_shape);
             }));
}

void LockTaker::retry(const Error& error, void (LockTaker::*next)()) {
  trouble_ = error.message;
  failures_.note(error, {{"lock", options_.name}}, loop_.now());
  if (options_.once || is_lasting(error.code)) return fail(error);
  retry_timer_.arm(std::max(interval_ / 2, std::min(interval_, error.retry_after)),
                   [this, next] { (this->*next)(); });
}

void LockTaker::begin() {
  begun_ = true;
  trouble_.clear();
  perform(machine_.start(loop_.now()));
}

// What the machine decides.

void LockTaker::perform(const LockMachine::Actions& actions) {
  if (ended_) return;
  for (const LockMachine::Action& action : actions) {
    std::visit([this](const auto& each) { act(each); }, action);
  }
  arm();
}

void LockTaker::arm() {
  if (ended_) return;
  const MonoTime due = begun_ ? machine_.wake_at() : options_.give_up_at;
  if (due == MonoTime::max()) return timer_.cancel();
  timer_.arm(due, [this] {
    if (!begun_) return stop();
    perform(machine_.wake(loop_.now()));
  });
}

void LockTaker::conduct(std::uint32_t permit, bool eligible) {
  Part& part = parts_[permit];
  if (part.driver) {
    if (std::exchange(part.eligible, eligible) != eligible) part.driver->set_eligible(eligible);
    return;
  }
  ElectionConfig config;
  config.id = options_.holder;
  config.incarnation = options_.session.value_or(Incarnation(random_.uuid()));
  config.renews_when_told = options_.session.has_value();
  config.resumed = resumed(permit);
  config.terms.lease = options_.ttl;
  config.interval = interval_;
  config.jitter = interval_ / 5;
  config.retry_wait = std::min<Duration>(1s, options_.ttl / 15);
  config.turn_wait = config.retry_wait;
  if (memory_) config.observed = memory_->recall(keys_.permit(permit), store_.history());
  ElectionDriver::Options driver;
  driver.name_space = options_.name;
  driver.root = keys_.permit(permit);
  driver.request_timeout = request_timeout_;
  driver.heartbeat_interval = interval_;
  driver.worker_timeout = options_.ttl;
  driver.pod = options_.host;
  ElectionDriver::Hooks hooks;
  hooks.on_event = [this, permit](const ElectionEvent& event) { on_event(permit, event); };
  // Takers have no files, so none is listed: each tries at once.
  hooks.workers = [this] { return std::vector{options_.holder}; };
  hooks.on_beat = [this, permit](MonoTime, bool failed) { on_beat(permit, failed); };
  part.eligible = eligible;
  part.driver =
      std::make_unique<ElectionDriver>(loop_, store_, std::move(config), std::move(driver),
                                       std::move(hooks), Random(random_.next()));
  if (!eligible) part.driver->set_eligible(false);
  // Being told begins, too, and before the first answer.
  if (beat_ > 0) return part.driver->told(beat_);
  part.driver->start();
}

std::optional<Epoch> LockTaker::resumed(std::uint32_t permit) const {
  for (const HeldPermit& each : options_.resumed) {
    if (each.permit == permit) return each.epoch;
  }
  return {};
}

void LockTaker::told() {
  ++beat_;
  for (Part& part : parts_) {
    if (part.driver && !ending_) part.driver->told(beat_);
  }
}

void LockTaker::act(const LockMachine::GiveBack& action) {
  ResignOptions options;
  options.stop = true;
  // A holder elsewhere may not have heard yet that the lock is lost.
  const bool may_be_relied_on = guard_ || !options_.resumed.empty();
  options.without_receipt = options_.session && may_be_relied_on && !done_;
  parts_[action.permit].driver->resign(std::move(options));
}

void LockTaker::act(const LockMachine::Held& action) {
  watch_.reset();
  guard_ = std::make_shared<LeaseGuard>(loop_, action.token, action.until);
  hooks_.on_held(guard_);
}

void LockTaker::act(const LockMachine::Extended& action) {
  if (!guard_) return;
  guard_->extend(action.until);
  if (hooks_.on_renewed) hooks_.on_renewed(action.until);
}

void LockTaker::act(const LockMachine::Lost& action) {
  guard_->close();
  failed_ = lost_error(options_.name, action.reason);
  log_warn("lock lost", {{"lock", options_.name}, {"reason", to_string(action.reason)}});
  begin_to_end();
  hooks_.on_lost(*failed_);
}

void LockTaker::act(const LockMachine::Finished& action) {
  if (failed_) return end(Status(*failed_));
  if (!guard_) return end({});
  if (action.released) return end(Status(Done{}));
  end(Status(Errc::kAmbiguous, "the store has not confirmed that the lock " + options_.name +
                                   " was released; it expires " + format_duration(options_.ttl) +
                                   " after its last renewal"));
}

// What the elections of the permits report.

void LockTaker::on_event(std::uint32_t permit, const ElectionEvent& event) {
  const MonoTime now = loop_.now();
  if (const auto* won = std::get_if<BecameLeader>(&event)) {
    perform(machine_.won(permit, won->epoch, won->deadline, now));
  } else if (const auto* renewed = std::get_if<LeaseRenewed>(&event)) {
    perform(machine_.renewed(permit, renewed->deadline, now));
  } else if (const auto* lost = std::get_if<LostLeadership>(&event)) {
    perform(machine_.lost(permit, lost->reason, now));
  } else if (const auto* resigned = std::get_if<Resigned>(&event)) {
    // The driver is still at work: it ends afterwards.
    loop_.post(lifetime_.wrap(
        [this, permit, released = resigned->released] { given_back(permit, released); }));
  } else if (const auto* trouble = std::get_if<StateTrouble>(&event)) {
    trouble_ = trouble->problem;
    log_warn("lock state damaged", {{"lock", options_.name}, {"problem", trouble->problem}});
  } else if (const auto* failure = std::get_if<StoreTrouble>(&event)) {
    if (failure->error.code == Errc::kConflict) return;  // Another taker was faster.
    trouble_ = failure->error.message;
    failures_.note(failure->error, {{"lock", options_.name}}, now);
    if (!guard_ && is_lasting(failure->error.code)) fail(failure->error);
  }
}

// Afterwards, since what ended a beat may have ended a term, which is reported next.
void LockTaker::on_beat(std::uint32_t permit, bool failed) {
  if (failed && !options_.once) return;
  loop_.post(lifetime_.wrap([this, permit, driver = parts_[permit].driver.get()] {
    if (parts_[permit].driver.get() == driver) look_at(permit);
  }));
}

void LockTaker::look_at(std::uint32_t permit) {
  const Election& election = parts_[permit].driver->election();
  const MonoTime now = loop_.now();
  if (ending_ || guard_ || election.leads(now)) return;
  follow();
  const MonoTime until = election.leader(now) ? election.leader_until() : MonoTime::min();
  perform(machine_.looked(permit, until, now));
}

// Another process holds what this one wants: where the store can, it tells of the release.
void LockTaker::follow() {
  if (watch_ || !store_.capabilities().watch) return;
  const auto nudge = [this](Part& part) {
    if (part.driver && !part.driver->election().leads(loop_.now())) part.driver->nudge();
  };
  watch_ = store_.watch(keys_.root, {}, [this, nudge](const WatchEvent& event) {
    if (event.kind == WatchEvent::Kind::kReset) {
      for (Part& part : parts_) nudge(part);
    } else if (const auto permit = keys_.permit_of(event.key)) {
      // A floor that is raised only announces the state that follows.
      const bool state = event.key.ends_with("/state.json");
      if (state && *permit < parts_.size()) nudge(parts_[*permit]);
    }
  });
  // It may have changed before the watch began.
  for (Part& part : parts_) nudge(part);
}

void LockTaker::drop(std::uint32_t permit) {
  Part& part = parts_[permit];
  if (part.driver && memory_) {
    const Election& election = part.driver->election();
    const auto& state = election.last_state();
    if (state && (state->leader || election.observed().doubted_floor)) {
      memory_->keep(keys_.permit(permit), election.observed(), store_.history());
    } else if (state) {
      memory_->forget(keys_.permit(permit));
    }
  }
  part = Part{};
}

void LockTaker::given_back(std::uint32_t permit, bool released) {
  drop(permit);
  perform(machine_.given_back(permit, released, loop_.now()));
}

void LockTaker::fail(Error error) {
  if (ending_) return;
  failed_ = std::move(error);
  stop();
}

void LockTaker::release() {
  done_ = true;
  stop();
}

void LockTaker::stop() {
  if (ending_) return;
  if (guard_ && !guard_->valid()) failed_ = lost_error(options_.name, LossReason::kExpired);
  if (guard_) guard_->close();
  begin_to_end();
  if (!begun_) return end(failed_ ? std::optional(Status(*failed_)) : std::nullopt);
  loop_.post(lifetime_.wrap([this] { perform(machine_.end(loop_.now())); }));
}

// A store that does not answer keeps nobody waiting: what is not released expires.
void LockTaker::begin_to_end() {
  ending_ = true;
  watch_.reset();
  retry_timer_.arm(2 * request_timeout_, [this] { act(LockMachine::Finished{false}); });
}

void LockTaker::end(std::optional<Status> how) {
  if (std::exchange(ended_, true)) return;
  ending_ = true;
  timer_.cancel();
  retry_timer_.cancel();
  watch_.reset();
  loop_.post(lifetime_.wrap([this, how = std::move(how)] {
    for (std::uint32_t permit = 0; permit < parts_.size(); ++permit) drop(permit);
    hooks_.on_end(how);
  }));
}

}  // namespace muster
