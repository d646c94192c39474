#include "tests/sim/election_sim.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace muster::sim {
namespace {

// Two hosts slewed by this in opposite directions are what the default drift allows for.
constexpr double kSlew = 0.083;

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace

ElectionSim::ElectionSim(std::uint64_t seed, ElectionSimOptions options)
    : options_(options), world_(seed) {
  Random& random = world_.random();
  vandals_ = random.chance(0.2);
  // Drawn apart, so that other runs are what they were without it.
  Random fate(seed ^ 0x60e5bacc);
  goes_back_ = !vandals_ && fate.chance(0.2);
  shared_->numbered = goes_back_ && fate.chance(0.5);
  shared_->faults = StoreFaults::scaled(random.unit());
  const Duration lease = random.between(2s, 20s);
  const std::uint64_t count = 2 + random.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    Worker worker;
    worker.name = std::string("w") + static_cast<char>('a' + i);
    worker.lease = random.chance(0.7) ? lease : random.between(2s, 20s);
    workers_.push_back(std::move(worker));
  }
  shared_->objects->subscribe([this](const MemoryObjects::Change& change) { on_change(change); });
}

void ElectionSim::start(Worker& worker) {
  Random& random = world_.random();
  // At the ends of what is allowed more often than within it: there the races are.
  const double rate = random.chance(0.5) ? (random.chance(0.5) ? 1 + kSlew : 1 - kSlew)
                                         : 1 - kSlew + 2 * kSlew * random.unit();
  worker.process = std::make_unique<Process>(world_, rate, random.between(0s, 2h));
  worker.store = std::make_unique<FaultyStore>(world_, *worker.process, shared_);
  worker.incarnation = random.uuid();
  worker.stopping = false;
  worker.hung = false;
  ElectionConfig config;
  config.id = WorkerId(worker.name);
  config.incarnation = Incarnation(worker.incarnation);
  config.terms.lease = worker.lease;
  config.interval = worker.lease / 3;
  config.jitter = worker.lease / 15;
  config.retry_wait = worker.lease / 15;
  config.turn_wait = worker.lease / 15;
  ElectionDriver::Options driver_options;
  driver_options.name_space = "sim";
  driver_options.request_timeout = worker.lease / 5;
  ElectionDriver::Hooks hooks;
  hooks.on_event = [this, &worker](const ElectionEvent& event) { on_event(worker, event); };
  hooks.workers = [this] {
    std::vector<WorkerId> live;
    for (const Worker& w : workers_) {
      if (w.driver) live.emplace_back(w.name);
    }
    return live;
  };
  worker.driver = std::make_unique<ElectionDriver>(*worker.process, *worker.store, config,
                                                   driver_options, hooks, Random(random.next()));
  say(&worker, "starts, incarnation " + worker.incarnation.substr(0, 8) + ", lease " +
                   std::to_string(to_ms(worker.lease)) + " ms, clock rate " + std::to_string(rate));
  worker.process->post([&worker] { worker.driver->start(); });
}

void ElectionSim::stop(Worker& worker) {
  worker.process->kill();
  worker.driver.reset();
  worker.store.reset();
}

void ElectionSim::restart_later(Worker& worker, Duration delay) {
  stop(worker);
  start_later(worker, delay);
}

void ElectionSim::start_later(Worker& worker, Duration delay) {
  world_.after(delay, [this, &worker] {
    if (worker.driver) return;
    if (last_term_is_forgotten()) return start_later(worker, 1s);
    start(worker);
  });
}

void ElectionSim::on_event(Worker& worker, const ElectionEvent& event) {
  std::visit(Overloaded{
                 [&](const BecameLeader& e) {
                   say(&worker, "LEADS, epoch " + std::to_string(e.epoch.value()));
                   ++report_.terms;
                   if (e.epoch <= last_term_ && !epochs_come_again_) {
                     violate(worker.name + " began a term with epoch " +
                             std::to_string(e.epoch.value()) + " after one with epoch " +
                             std::to_string(last_term_.value()));
                   }
                   last_term_ = std::max(last_term_, e.epoch);
                   work_on_resource(worker);
                 },
                 [&](const LostLeadership& e) {
                   say(&worker, std::string("leads no more: ") + to_string(e.reason));
                   if (worker.hung && e.reason == LossReason::kReleased) {
                     violate(worker.name + " says that it released what it left to expire");
                   }
                 },
                 [&](const Resigned& e) {
                   say(&worker, e.released ? "has released" : "had nothing to release");
                   worker.hung = false;
                   // The driver is still on the stack: end it in an event of its own.
                   if (worker.stopping) {
                     const Duration delay = world_.random().between(0s, 30s);
                     world_.after(0s, [this, &worker, delay] {
                       if (worker.driver && worker.stopping) restart_later(worker, delay);
                     });
                   }
                 },
                 [&](const StateTrouble& e) { say(&worker, "reports: " + e.problem); },
                 [&](const auto&) {},
             },
             event);
}

// While it leads, a worker writes to a resource; the writes travel for up to a minute.
void ElectionSim::work_on_resource(Worker& worker) {
  if (!worker.driver || !worker.driver->election().leads(worker.process->now())) return;
  const Epoch epoch = *worker.driver->election().term_epoch();
  const std::string writer = worker.incarnation;
  Random& random = world_.random();
  const Duration travel = random.chance(0.8) ? random.between(0s, 1s) : random.between(0s, 60s);
  world_.after(travel, [this, epoch, writer] {
    if (epochs_come_again_ || !guard_.admit(epoch)) return;
    if (epoch < resource_epoch_) violate("the resource accepted a lower epoch after a higher one");
    resource_epoch_ = std::max(resource_epoch_, epoch);
    const auto [it, fresh] = resource_writers_.emplace(epoch.value(), writer);
    if (it->second != writer) {
      violate("the resource accepted epoch " + std::to_string(epoch.value()) +
              " from two incarnations");
    }
  });
  worker.process->at(worker.process->now() + worker.lease / 4,
                     [this, &worker] { work_on_resource(worker); });
}

void ElectionSim::heal() {
  say(nullptr, "everything heals");
  healed_ = true;
  shared_->faults = StoreFaults();
  for (Worker& worker : workers_) {
    if (worker.store) worker.store->set_cut_off(false);
    if (worker.stopping) stop(worker);
    if (!worker.driver) start_later(worker, 0s);
  }
}

bool ElectionSim::check() {
  ++report_.events;
  check_one_leader();
  return report_.violation.empty();
}

void ElectionSim::check_one_leader() {
  const Worker* leader = nullptr;
  for (const Worker& worker : workers_) {
    if (!worker.driver || !worker.driver->election().leads(worker.process->now())) continue;
    if (leader) violate(leader->name + " and " + worker.name + " lead at the same time");
    leader = &worker;
  }
}

void ElectionSim::on_change(const MemoryObjects::Change& change) {
  check_history(change);
  if (goes_back_) copies_.push_back(*shared_->objects);
  if (!vandals_ || change.removed) return;
  std::vector<Backup>& backups = backups_[change.key];
  if (!backups.empty()) backups.back().floor = floor_revision();
  backups.push_back({shared_->objects->entries().at(change.key)});
  // An acquisition is under way: the worst moment.
  if (change.key != keys_.metadata || !world_.random().chance(0.2)) return;
  world_.after(world_.random().between(0s, 20s), [this] {
    if (!healed_) vandalize();
  });
}

// Without vandals, the epochs that the store has seen rise with every acquisition and never fall.
void ElectionSim::check_history(const MemoryObjects::Change& change) {
  if (vandals_ || goes_back_ || change.removed || change.key != keys_.state) return;
  const LeaderState state = *decode_leader_state(shared_->objects->entries().at(keys_.state).body);
  const bool renewal = state.leader && state.leader == last_state_.leader &&
                       state.incarnation == last_state_.incarnation;
  const bool release = !state.leader;
  const bool rises = state.epoch > last_state_.epoch;
  if (state.epoch < last_state_.epoch || (!rises && !renewal && !release)) {
    violate("the store's epoch went from " + std::to_string(last_state_.epoch.value()) + " to " +
            std::to_string(state.epoch.value()));
  }
  last_state_ = state;
}

void ElectionSim::violate(std::string what) {
  if (report_.violation.empty()) report_.violation = std::move(what);
  say(nullptr, "VIOLATION: " + report_.violation);
}

void ElectionSim::say(const Worker* worker, const std::string& what) {
  if (!options_.trace) return;
  char head[64];
  std::snprintf(head, sizeof head, "%10.3f  %-5s ", static_cast<double>(to_ms(world_.now())) / 1000,
                worker ? worker->name.c_str() : "world");
  report_.trace.push_back(head + what);
}

SimReport ElectionSim::run() {
  for (Worker& worker : workers_) {
    world_.after(world_.random().between(0s, 10s), [this, &worker] { start(worker); });
  }
  schedule_chaos();
  world_.run(options_.chaos, [this] { return check(); });
  if (report_.violation.empty()) {
    heal();
    world_.run(options_.chaos + options_.calm, [this] { return check(); });
  }
  const bool led = std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
    return worker.driver && worker.driver->election().leads(worker.process->now());
  });
  if (report_.violation.empty() && !led) violate("nobody leads long after everything healed");
  report_.simulated = world_.now();
  return std::move(report_);
}

}  // namespace muster::sim
