#include "sim/faulty_store.h"

#include <utility>

namespace muster::sim {

StoreFaults StoreFaults::scaled(double badness) {
  StoreFaults faults;
  faults.slow = 0.10 * badness;
  faults.request_lost = 0.05 * badness;
  faults.reply_lost = 0.10 * badness;
  faults.error_before = 0.05 * badness;
  faults.error_after = 0.05 * badness;
  faults.resent_unseen = 0.05 * badness;
  faults.conditional_conflict = 0.05 * badness;
  faults.throttled = 0.05 * badness;
  return faults;
}

Capabilities FaultyStore::capabilities() const {
  return {.conditional_remove = shared_->conditional_remove};
}

Duration FaultyStore::travel() {
  Random& random = world_.random();
  const StoreFaults& faults = shared_->faults;
  if (random.chance(faults.slow)) return random.between(faults.latency_max, faults.slow_max);
  return random.between(faults.latency_min, faults.latency_max);
}

template <typename T>
void FaultyStore::call(bool writes, Deadline by, std::function<Result<T>()> effect,
                       Callback<T> done) {
  ++calls_;
  // Whichever comes first, the reply or the deadline, takes the callback with it.
  auto slot = std::make_shared<Callback<T>>(std::move(done));
  auto answer = lifetime_.wrap([slot](Result<T> result) {
    if (const Callback<T> once = std::exchange(*slot, nullptr)) once(std::move(result));
  });
  process_.at(by, [answer, writes]() mutable {
    answer(Error{writes ? Errc::kAmbiguous : Errc::kUnavailable, "no reply by the deadline"});
  });

  Random& random = world_.random();
  const StoreFaults faults = shared_->faults;
  if (cut_off_ || faults.down || random.chance(faults.request_lost)) return;
  const Errc failure = writes ? Errc::kAmbiguous : Errc::kUnavailable;
  const bool before = random.chance(faults.error_before);
  const bool refused = random.chance(faults.throttled);
  const bool unsettled = writes && random.chance(faults.conditional_conflict);
  const bool after = random.chance(faults.error_after);
  const bool resent = writes && random.chance(faults.resent_unseen);
  const bool reply_lost = random.chance(faults.reply_lost);
  world_.after(travel(), [=, this, alive = lifetime_.token(), effect = std::move(effect)] {
    Result<T> result = Error{failure, "the store answered 500"};
    if (refused) {
      result = Error{Errc::kThrottled, "the store answered 429", 500ms};
    } else if (unsettled) {
      result = Error{Errc::kAmbiguous, "the store answered 409"};
    } else if (!before) {
      result = effect();
      if (after) result = Error{failure, "the store answered 500"};
      if (resent && result.ok()) result = Error{Errc::kConflict, "the store answered 412"};
    }
    // The caller may be gone by now; what it sent took effect all the same.
    if (reply_lost || alive.expired()) return;
    world_.after(travel(), [this, alive, answer, result = std::move(result)]() mutable {
      if (alive.expired()) return;
      process_.post([answer, result = std::move(result)]() mutable { answer(std::move(result)); });
    });
  });
}

void FaultyStore::get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) {
  call<Object>(
      false, by,
      [objects = shared_->objects, key, unless] { return objects->get(key, unless, MonoTime()); },
      std::move(done));
}

void FaultyStore::put(Key key, std::string body, Precondition when, Deadline by,
                      Callback<Revision> done) {
  call<Revision>(
      true, by,
      [objects = shared_->objects, key, body, when] {
        return objects->put(key, body, when, {}, MonoTime());
      },
      std::move(done));
}

void FaultyStore::guarded_put(Key, std::string, Precondition, Guard, Deadline,
                              Callback<Revision> done) {
  process_.post(lifetime_.wrap([done = std::move(done)] {
    done({Errc::kUnsupported, "the simulated store has no transactions over two keys"});
  }));
}

void FaultyStore::remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) {
  call<Done>(
      true, by,
      [shared = shared_, key, when]() -> Status {
        if (when && !shared->conditional_remove) {
          return {Errc::kUnsupported, "the simulated store cannot remove at a revision"};
        }
        return shared->objects->remove(key, when);
      },
      std::move(done));
}

void FaultyStore::list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) {
  call<ListPage>(
      false, by,
      [objects = shared_->objects, prefix, from]() -> Result<ListPage> {
        return objects->list(prefix, from, MonoTime());
      },
      std::move(done));
}

}  // namespace muster::sim
