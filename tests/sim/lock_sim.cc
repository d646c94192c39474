#include "tests/sim/lock_sim.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace muster::sim {
namespace {

// Two hosts slewed by this in opposite directions are what the default drift allows for.
constexpr double kSlew = 0.083;
// How long a calm process holds the lock at most.
constexpr Duration kHoldMax = 3s;

std::string ms(Duration d) {
  return std::to_string(to_ms(d)) + " ms";
}

}  // namespace

LockSim::LockSim(std::uint64_t seed, LockSimOptions options) : options_(options), world_(seed) {
  Random& random = world_.random();
  const std::uint64_t kind = random.below(4);
  shape_.kind = kind == 0   ? LockKind::kMutex
                : kind == 1 ? LockKind::kSemaphore
                            : LockKind::kReadWrite;
  if (kind != 0) shape_.permits = static_cast<std::uint32_t>(1 + random.below(3));
  ttl_ = random.between(8s, 20s);
  shared_->faults = StoreFaults::scaled(random.unit());
  shared_->watch = random.chance(0.5);
  vandals_ = random.chance(0.3);
  shared_->objects->subscribe([this](const MemoryObjects::Change& change) { on_change(change); });
  const std::uint64_t count = shape_.permits + 2 + random.below(3);
  const std::uint64_t writers = kind < 2 ? 0 : 1 + random.below(2);
  for (std::uint64_t i = 0; i < count; ++i) {
    Actor actor;
    actor.name = std::string("p") + static_cast<char>('a' + i);
    actor.writes = i < writers;
    actors_.push_back(std::move(actor));
  }
  say(nullptr, "takes " + to_string(shape_) + ", ttl " + ms(ttl_));
}

void LockSim::start(Actor& actor) {
  Random& random = world_.random();
  const double rate = random.chance(0.5) ? (random.chance(0.5) ? 1 + kSlew : 1 - kSlew)
                                         : 1 - kSlew + 2 * kSlew * random.unit();
  ++actor.life;
  actor.memory = LockMemory();
  actor.process = std::make_unique<Process>(world_, rate, random.between(0s, 2h));
  actor.store = std::make_unique<FaultyStore>(world_, *actor.process, shared_);
  say(&actor, "starts, clock rate " + std::to_string(rate));
  attempt_later(actor);
}

void LockSim::kill(Actor& actor) {
  ++actor.life;
  actor.process->kill();
  actor.guard.reset();
  actor.taker.reset();
  actor.store.reset();
  actor.waits_since.reset();
}

void LockSim::attempt_later(Actor& actor) {
  const Duration pause = world_.random().between(0s, calm_from_ ? 2s : 10s);
  actor.process->at(actor.process->now() + pause, [this, &actor] { attempt(actor); });
}

void LockSim::attempt(Actor& actor) {
  Random& random = world_.random();
  const bool patient = random.chance(calm_from_ ? 0.8 : 0.5);
  LockTaker::Options options;
  options.name = "sim";
  options.shape = shape_;
  options.writes = actor.writes;
  options.ttl = ttl_;
  options.holder = WorkerId(actor.name);
  options.once = !patient && random.chance(0.5);
  if (!patient) options.give_up_at = actor.process->now() + random.between(0s, 60s);
  LockTaker::Hooks hooks;
  hooks.on_held = [this, &actor](std::shared_ptr<const LeaseGuard> guard) {
    held(actor, std::move(guard));
  };
  hooks.on_lost = [this, &actor](const Error& why) { say(&actor, "is told: " + why.message); };
  hooks.on_end = [this, &actor](const std::optional<Status>& how) { ended(actor, how); };
  say(&actor, std::string("wants ") + (actor.writes ? "to write" : "the lock") +
                  (options.once ? ", at once" : ""));
  actor.taker = std::make_unique<LockTaker>(
      options,
      LockTaker::Deps{*actor.process, *actor.store, Random(random.next()), {}, &actor.memory},
      hooks);
  actor.unlocked = false;
  if (patient) actor.waits_since = world_.now();
  actor.taker->start();
}

void LockSim::held(Actor& actor, std::shared_ptr<const LeaseGuard> guard) {
  say(&actor, "HOLDS the lock, token " + std::to_string(guard->epoch().value()));
  ++report_.terms;
  check_tokens(actor, guard->epoch());
  actor.guard = std::move(guard);
  actor.waits_since.reset();
  unlocked_by_.clear();
  Random& random = world_.random();
  const Duration hold = random.between(100ms, calm_from_ || random.chance(0.5) ? kHoldMax : 40s);
  actor.process->at(actor.process->now() + hold, [this, &actor, life = actor.life] {
    if (actor.life == life) unlock(actor);
  });
}

void LockSim::unlock(Actor& actor) {
  actor.unlocked = is_held(actor);
  say(&actor, "unlocks");
  actor.taker->release();
}

void LockSim::ended(Actor& actor, const std::optional<Status>& how) {
  say(&actor, !how ? "gives up" : how->ok() ? "has unlocked" : "ends: " + how->error().message);
  if (is_held(actor)) violate(actor.name + " holds the lock after the end");
  if (actor.unlocked) {
    unlocked_by_ = actor.name;
    unlocked_at_ = world_.now();
  }
  ++actor.life;
  actor.guard.reset();
  actor.waits_since.reset();
  // The taker is still on the stack: it ends in an event of its own.
  world_.after(0s, [this, &actor, life = actor.life] {
    if (actor.life != life) return;
    actor.taker.reset();
    attempt_later(actor);
  });
}

void LockSim::schedule_chaos() {
  world_.after(world_.random().between(100ms, 12s), [this] {
    if (calm_from_) return;
    wreak_chaos();
    schedule_chaos();
  });
}

void LockSim::wreak_chaos() {
  Random& random = world_.random();
  Actor& actor = actors_[random.below(actors_.size())];
  if (!actor.store) return;
  switch (random.below(8)) {
    case 0: {
      const Duration length = random.between(100ms, 60s);
      say(&actor, "is paused for " + ms(length));
      paused_until_ = std::max(paused_until_, world_.now() + length);
      return actor.process->pause(world_.now() + length);
    }
    case 1:
      say(&actor, "is killed");
      kill(actor);
      world_.after(random.between(0s, 30s), [this, &actor] {
        if (!actor.store) start(actor);
      });
      return;
    case 2:
      if (actor.taker)
        actor.process->post([this, &actor, life = actor.life] {
          if (actor.life == life && actor.taker) unlock(actor);
        });
      return;
    case 3:
      say(nullptr, "the store is down");
      shared_->faults.down = true;
      world_.after(random.between(100ms, 60s), [this] { shared_->faults.down = false; });
      return;
    case 4: {
      say(&actor, "is cut off");
      actor.store->set_cut_off(true);
      world_.after(random.between(100ms, 60s), [&actor] {
        if (actor.store) actor.store->set_cut_off(false);
      });
      return;
    }
    case 5:
      return actor.process->jump_wall_clock(random.between(-1h, 1h));
    case 6:
      if (vandals_) remove_state();
      return;
    default:
      shared_->faults = StoreFaults::scaled(random.unit());
  }
}

// The state of one permit is removed by a stranger: its holder loses it, and keeps the others.
void LockSim::remove_state() {
  const bool writers = shape_.kind == LockKind::kReadWrite && world_.random().chance(0.7);
  const auto number =
      static_cast<std::uint32_t>(writers ? kWriters : 1 + world_.random().below(shape_.permits));
  const NamespaceKeys election = NamespaceKeys::below(keys_.permit(number));
  say(nullptr, election.state + " is removed by a stranger");
  (void)shared_->objects->remove(election.state, {});
}

void LockSim::heal() {
  calm_from_ = std::max(world_.now(), paused_until_);
  say(nullptr, "everything heals");
  shared_->faults = StoreFaults();
  for (Actor& actor : actors_) {
    if (actor.store) actor.store->set_cut_off(false);
    if (!actor.store) start(actor);
    // What it holds from before it holds no longer than others.
    if (actor.guard)
      actor.process->post([this, &actor, life = actor.life] {
        if (actor.life == life) unlock(actor);
      });
  }
}

// Whether an acquisition was begun, so that the floor was raised, and did not come to its end: its
// lease is waited out like one that runs.
void LockSim::on_change(const MemoryObjects::Change& change) {
  const auto number = keys_.permit_of(change.key);
  if (!number || change.removed) return;
  const std::string& body = shared_->objects->entries().at(change.key).body;
  const NamespaceKeys election = NamespaceKeys::below(keys_.permit(*number));
  auto& [floor, epoch] = epochs_[*number];
  if (change.key == election.metadata) {
    floor = decode_metadata(body)->epoch_floor;
    say(nullptr, "permit " + std::to_string(*number) + ": floor " + std::to_string(floor.value()));
  }
  if (change.key == election.state) {
    const LeaderState state = *decode_leader_state(body);
    epoch = state.epoch;
    say(nullptr, "permit " + std::to_string(*number) + ": epoch " + std::to_string(epoch.value()) +
                     ", " + (state.leader ? state.leader->value() : "free"));
  }
  begun_ = std::any_of(epochs_.begin(), epochs_.end(), [](const auto& permit) {
    return permit.second.first > permit.second.second;
  });
  if (begun_) begun_at_ = world_.now();
}

Duration LockSim::patience(TrueTime since) const {
  const bool begun = vandals_ || begun_ || (begun_at_ && *begun_at_ >= since);
  // The slowest clock counts, and a look that was just missed is one interval later.
  return scale((begun ? 3 : 1) * ttl_ + ttl_ / 5 + ttl_ / 25, 1 / (1 - kSlew)) + 2s;
}

bool LockSim::check() {
  ++report_.events;
  check_holders();
  if (calm()) check_progress();
  if (calm()) check_writer();
  return report_.violation.empty();
}

void LockSim::check_holders() {
  const Actor* writer = nullptr;
  const Actor* other = nullptr;
  std::uint32_t holders = 0;
  for (const Actor& actor : actors_) {
    if (!is_held(actor)) continue;
    ++holders;
    (actor.writes && !writer ? writer : other) = &actor;
  }
  if (writer && other) violate(writer->name + " writes while " + other->name + " holds the lock");
  if (holders > shape_.permits && !writer) {
    violate(std::to_string(holders) + " hold " + to_string(shape_));
  }
}

void LockSim::check_tokens(const Actor& actor, Epoch token) {
  if (shape_.kind != LockKind::kMutex && !actor.writes) return;
  if (token <= last_token_) {
    violate(actor.name + " holds the lock with token " + std::to_string(token.value()) +
            " after one with token " + std::to_string(last_token_.value()));
  }
  last_token_ = std::max(last_token_, token);
}

// The lock is free as long as one of those that wait could hold it.
void LockSim::check_progress() {
  std::uint32_t holders = 0;
  const Actor* waits = nullptr;
  for (const Actor& actor : actors_) {
    if (is_held(actor)) ++holders;
    if (actor.waits_since && (!waits || *actor.waits_since < *waits->waits_since)) waits = &actor;
  }
  const bool counted = shape_.kind == LockKind::kSemaphore;
  if (!waits || holders >= (counted ? shape_.permits : 1)) {
    wanted_since_.reset();
    unlocked_by_.clear();
    return;
  }
  if (!wanted_since_) wanted_since_ = world_.now();
  const Duration free = world_.now() - std::max(*wanted_since_, *waits->waits_since);
  if (free > patience(*wanted_since_)) {
    violate("nobody took the free lock for " + ms(free) + ", and " + waits->name + " wants it");
  }
  // Dead holders have expired by then, unless their permit was not wanted: readers pass by one that
  // a writer waits for.
  const bool settled = shape_.kind != LockKind::kReadWrite && world_.now() > *calm_from_ + 4 * ttl_;
  if (!settled || unlocked_by_.empty()) return;
  const Duration unlocked = world_.now() - std::max(unlocked_at_, *waits->waits_since);
  if (unlocked > ttl_ / 2 + 1s) {
    violate("nobody took the lock for " + ms(unlocked) + " after " + unlocked_by_ + " unlocked it");
  }
}

void LockSim::check_writer() {
  const auto writers = std::count_if(actors_.begin(), actors_.end(),
                                     [](const Actor& actor) { return actor.writes; });
  const Actor& writer = actors_.front();
  if (writers != 1 || !writer.waits_since) return;
  const Duration waits = world_.now() - std::max(*writer.waits_since, *calm_from_);
  if (waits <= patience(world_.now() - waits) + kHoldMax + ttl_ / 2) return;
  violate("the writer " + writer.name + " has waited for " + ms(waits) +
          " while readers came and went");
}

void LockSim::violate(std::string what) {
  if (report_.violation.empty()) report_.violation = std::move(what);
  say(nullptr, "VIOLATION: " + report_.violation);
}

void LockSim::say(const Actor* actor, const std::string& what) {
  if (!options_.trace) return;
  char head[64];
  std::snprintf(head, sizeof head, "%10.3f  %-5s ", static_cast<double>(to_ms(world_.now())) / 1000,
                actor ? actor->name.c_str() : "world");
  report_.trace.push_back(head + what);
}

SimReport LockSim::run() {
  for (Actor& actor : actors_) {
    world_.after(world_.random().between(0s, 10s), [this, &actor] { start(actor); });
  }
  schedule_chaos();
  world_.run(options_.chaos, [this] { return check(); });
  if (report_.violation.empty()) {
    heal();
    world_.run(*calm_from_ + options_.calm, [this] { return check(); });
  }
  report_.simulated = world_.now();
  return std::move(report_);
}

}  // namespace muster::sim
