// What goes wrong in the simulated election: with its workers, their store, and what stands in it.

#include <algorithm>
#include <utility>

#include "tests/sim/election_sim.h"

namespace muster::sim {

void ElectionSim::schedule_chaos() {
  world_.after(world_.random().between(100ms, 12s), [this] {
    if (healed_) return;
    wreak_chaos();
    schedule_chaos();
  });
}

void ElectionSim::wreak_chaos() {
  Random& random = world_.random();
  Worker& worker = workers_[random.below(workers_.size())];
  if (!worker.driver) return;
  const bool all_must_look =
      shared_->numbered && went_back_at_ && world_.now() < *went_back_at_ + 30s;
  switch (random.below(9)) {
    case 0: {
      if (all_must_look) return;
      const Duration length = random.between(100ms, 60s);
      say(&worker, "is paused for " + std::to_string(to_ms(length)) + " ms");
      worker.process->pause(world_.now() + length);
      return;
    }
    case 1:
      if (last_term_is_forgotten()) return;
      say(&worker, "is killed");
      return restart_later(worker, random.between(0s, 30s));
    case 2:
      if (last_term_is_forgotten()) return;
      say(&worker, "stops cleanly");
      worker.stopping = true;
      return worker.process->post(
          [&worker] { worker.driver->resign({.stop = true, .preferred = {}}); });
    case 3: {
      say(&worker, "is asked to step down");
      const WorkerId preferred(workers_[random.below(workers_.size())].name);
      return worker.process->post([&worker, preferred, hangs = random.chance(0.2)] {
        worker.hung = hangs;
        worker.driver->resign(
            {.hold_off = worker.lease, .preferred = preferred, .without_receipt = hangs});
      });
    }
    case 4:
      say(nullptr, "the store is down");
      shared_->faults.down = true;
      world_.after(random.between(100ms, 60s), [this] { shared_->faults.down = false; });
      return;
    case 5: {
      if (all_must_look) return;
      say(&worker, "is cut off");
      worker.store->set_cut_off(true);
      const std::string incarnation = worker.incarnation;
      world_.after(random.between(100ms, 60s), [&worker, incarnation] {
        if (worker.store && worker.incarnation == incarnation) worker.store->set_cut_off(false);
      });
      return;
    }
    case 6:
      return worker.process->jump_wall_clock(random.between(-1h, 1h));
    case 7:
      shared_->faults = StoreFaults::scaled(random.unit());
      return;
    default:
      if (vandals_) vandalize();
      if (goes_back_) go_back();
  }
}

// An older copy of everything takes the store's place. Anyone who runs can know: it has seen a
// later term than the copy says, or the store tells it by its revisions. One that cannot would take
// the copy for the latest, and nothing promises otherwise.
void ElectionSim::go_back() {
  if (copies_.empty() || last_term_is_forgotten()) return;
  Random& random = world_.random();
  const std::uint64_t age = random.below(std::min<std::uint64_t>(copies_.size(), 80));
  const MemoryObjects& copy = copies_[copies_.size() - 1 - age];
  const auto epoch_of = [this](const MemoryObjects& objects) {
    const auto found = objects.entries().find(keys_.state);
    if (found == objects.entries().end()) return Epoch(0);
    return decode_leader_state(found->second.body)->epoch;
  };
  // Its holder may not have been told of it yet.
  const Epoch latest = std::max(last_term_, epoch_of(*shared_->objects));
  bool all_know_it = true;
  bool one_stays = false;
  for (const Worker& worker : workers_) {
    if (!worker.driver) continue;
    const Epoch seen = worker.driver->election().epoch();
    const bool by_term = seen >= latest && epoch_of(copy) < latest;
    // It asks before the store has come as far again.
    const bool by_revision = shared_->numbered && !worker.process->paused() &&
                             !worker.store->cut_off() &&
                             worker.store->seen_revision() > copy.revision() + 15;
    if (shared_->numbered ? !by_revision : !by_term) return;
    all_know_it = all_know_it && seen >= latest;
    one_stays = one_stays || !worker.stopping;
  }
  if (!one_stays) return;
  say(nullptr, "the store goes back from revision " + std::to_string(shared_->objects->revision()) +
                   " to " + std::to_string(copy.revision()));
  went_back_at_ = world_.now();
  // Anyone who does not know of the latest epoch may use it again.
  epochs_come_again_ = epochs_come_again_ || !all_know_it;
  // What was on its way to a server that was stopped never arrives.
  if (shared_->numbered) shared_->power_losses += 1;
  shared_->objects->go_back(copy, shared_->numbered);
}

// Who starts now cannot know of the last term, or not that its lease may still be running.
bool ElectionSim::last_term_is_forgotten() const {
  if (!went_back_at_) return false;
  if (epochs_come_again_) return world_.now() < *went_back_at_ + 25s;
  return !state_is_intact() && !floor_is_intact();
}

// One of the two objects is damaged behind everybody's back, while the other one is whole: that
// is what the rules promise to survive.
void ElectionSim::vandalize() {
  const bool state = world_.random().chance(0.7);
  if (state && floor_is_intact()) {
    damage(keys_.state);
  } else if (!state && state_is_intact()) {
    damage(keys_.metadata);
  }
}

void ElectionSim::damage(const Key& key) {
  Random& random = world_.random();
  const std::vector<Backup>& backups = backups_[key];
  switch (random.below(4)) {
    case 0:
      say(nullptr, key + " is removed by a stranger");
      (void)shared_->objects->remove(key, {});
      return;
    case 1:
      say(nullptr, key + " is overwritten with garbage");
      (void)shared_->objects->put(key, "{\"epoch\": gar" + random.uuid(), {}, {}, MonoTime());
      return;
    default: {
      if (backups.empty()) return;
      // The newest are the most dangerous: they look like what stands there.
      const std::uint64_t age = random.below(std::min<std::uint64_t>(backups.size(), 10));
      const Backup backup = backups[backups.size() - 1 - age];
      say(nullptr, key + " is replaced by an old copy: " + backup.entry.body);
      if (is_told(key, backup) && random.chance(0.5))
        return shared_->objects->restore(key, backup.entry);
      (void)shared_->objects->put(key, backup.entry.body, {}, {}, MonoTime());
    }
  }
}

// A copy has its old revision only where the floor was raised since: else nothing could tell it
// from what stood there before, and nothing promises to. A floor that was merely damaged and put
// back has another revision, too, and says no more than before.
bool ElectionSim::is_told(const Key& key, const Backup& backup) const {
  if (backup.floor == 0 || backup.floor == floor_revision()) return false;
  if (key != keys_.state) return true;
  const auto state = decode_leader_state(backup.entry.body);
  const auto floor = shared_->objects->entries().find(keys_.metadata);
  if (floor == shared_->objects->entries().end()) return false;
  const auto metadata = decode_metadata(floor->second.body);
  return state && metadata && metadata->epoch_floor > state->epoch;
}

bool ElectionSim::state_is_intact() const {
  const auto it = shared_->objects->entries().find(keys_.state);
  if (it == shared_->objects->entries().end()) return false;
  const auto state = decode_leader_state(it->second.body);
  return state && state->epoch >= last_term_;
}

bool ElectionSim::floor_is_intact() const {
  const auto it = shared_->objects->entries().find(keys_.metadata);
  if (it == shared_->objects->entries().end()) return false;
  const auto metadata = decode_metadata(it->second.body);
  return metadata && metadata->epoch_floor >= last_term_;
}

std::uint64_t ElectionSim::floor_revision() const {
  const auto it = shared_->objects->entries().find(keys_.metadata);
  return it == shared_->objects->entries().end() ? 0 : it->second.revision;
}

}  // namespace muster::sim
