#include "sim/faulty_store.h"

#include <algorithm>
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
  return {.watch = shared_->watch,
          .guarded_put = shared_->guarded_put,
          .conditional_remove = shared_->conditional_remove,
          .multi_key_order = true};
}

MonoTime SharedStore::gateway_now(World& world) const {
  if (gateway_clocks.empty()) return MonoTime();
  return MonoTime(world.now() + gateway_clocks[world.random().below(gateway_clocks.size())]);
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
  const bool refused = random.chance(faults.throttled) && (writes || !faults.throttles_writes_only);
  const bool unsettled = writes && random.chance(faults.conditional_conflict);
  const bool after = random.chance(faults.error_after);
  const bool resent = writes && random.chance(faults.resent_unseen);
  const bool reply_lost = random.chance(faults.reply_lost);
  world_.after(travel(),
               [=, this, shared = shared_, losses = shared_->power_losses, mark = identity_.mark(),
                alive = lifetime_.token(), effect = std::move(effect)] {
                 if (shared->power_losses != losses) return;
                 Result<T> result = Error{failure, "the store answered 500"};
                 if (writes && faults.disk_full) {
                   result = Error{Errc::kUnavailable, "the disk is full"};
                 } else if (refused) {
                   result = Error{Errc::kThrottled, "the store answered 429", faults.retry_after};
                 } else if (unsettled) {
                   result = Error{Errc::kAmbiguous, "the store answered 409"};
                 } else if (!before) {
                   result = effect();
                   if (after) result = Error{failure, "the store answered 500"};
                   if (resent && result.ok())
                     result = Error{Errc::kConflict, "the store answered 412"};
                 }
                 // The caller may be gone by now; what it sent took effect all the same.
                 if (reply_lost || alive.expired()) return;
                 const auto revision = static_cast<std::int64_t>(shared->objects->revision());
                 world_.after(travel(), [=, this, result = std::move(result)]() mutable {
                   if (alive.expired() || (cut_off_ && shared_->cut_off_is_deaf)) return;
                   process_.post([=, this, result = std::move(result)]() mutable {
                     if (alive.expired()) return;
                     const bool reached = result.ok() || result.is(Errc::kConflict) ||
                                          result.is(Errc::kNotFound) || result.is(Errc::kUnchanged);
                     if (shared_->numbered && reached) {
                       const Status same = identity_.observe(0, revision, mark);
                       if (!same) return answer(remote::unusable(same.error(), writes));
                       result = identity_.stamped(std::move(result));
                     }
                     answer(std::move(result));
                   });
                 });
               });
}

void FaultyStore::get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) {
  if (shared_->on_get) shared_->on_get(key);
  call<Object>(
      false, by,
      [shared = shared_, &world = world_, key, unless = identity_.own(unless)] {
        return shared->objects->get(key, unless, shared->gateway_now(world));
      },
      std::move(done));
}

void FaultyStore::put(Key key, std::string body, Precondition when, Deadline by,
                      Callback<Revision> done) {
  if (shared_->on_send) shared_->on_send(key, body);
  call<Revision>(
      true, by,
      [shared = shared_, &world = world_, key, body, when = identity_.own(when)] {
        return shared->objects->put(key, body, when, {}, shared->gateway_now(world));
      },
      std::move(done));
}

void FaultyStore::guarded_put(Key key, std::string body, Precondition when, Guard guard,
                              Deadline by, Callback<Revision> done) {
  if (shared_->on_send) shared_->on_send(key, body);
  call<Revision>(
      true, by,
      [shared = shared_, key, body, when = identity_.own(when),
       guard = identity_.own(guard)]() -> Result<Revision> {
        if (!shared->guarded_put) {
          return {Errc::kUnsupported, "the simulated store has no transactions over two keys"};
        }
        return shared->objects->put(key, body, when, guard, MonoTime());
      },
      std::move(done));
}

void FaultyStore::remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) {
  call<Done>(
      true, by,
      [shared = shared_, key, when = identity_.own(when)]() -> Status {
        if (when && !shared->conditional_remove) {
          return {Errc::kUnsupported, "the simulated store cannot remove at a revision"};
        }
        return shared->objects->remove(key, when);
      },
      std::move(done));
}

void FaultyStore::list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) {
  from = identity_.own(from);
  call<ListPage>(
      false, by,
      [shared = shared_, &world = world_, prefix, from]() -> Result<ListPage> {
        return shared->objects->list(prefix, from, shared->gateway_now(world));
      },
      std::move(done));
}

/// Pushes travel one after another, so that none overtakes another. While the process cannot be
/// reached they are lost, and a reset takes their place once it can.
class FaultyStore::Subscription final : public Watch {
 public:
  Subscription(FaultyStore& store, std::string prefix,
               std::function<void(const WatchEvent&)> on_event)
      : store_(store), objects_(store.shared_->objects), on_event_(std::move(on_event)) {
    id_ = objects_->subscribe([this, prefix](const MemoryObjects::Change& change) {
      if (change.key.starts_with(prefix)) push(change);
    });
  }
  ~Subscription() override { objects_->unsubscribe(id_); }

  void push(const MemoryObjects::Change& change) {
    using Kind = WatchEvent::Kind;
    WatchEvent event{change.removed ? Kind::kRemoved : Kind::kPut, change.key, {}, {}};
    if (!change.removed) event.object = *objects_->get(change.key, {}, MonoTime());
    event.cursor = std::to_string(change.revision);
    if (store_.cut_off_ || store_.shared_->faults.down) {
      lost_ = true;
      return;
    }
    if (std::exchange(lost_, false)) send({Kind::kReset, {}, {}, event.cursor});
    send(std::move(event));
  }

 private:
  void send(WatchEvent event) {
    last_ = std::max(last_, store_.world_.now() + store_.travel());
    store_.world_.at(last_, [this, token = lifetime_.token(), event = std::move(event)] {
      if (token.expired()) return;
      store_.process_.post([this, token, event] {
        if (!token.expired()) on_event_(event);
      });
    });
  }

  FaultyStore& store_;
  std::shared_ptr<MemoryObjects> objects_;
  std::function<void(const WatchEvent&)> on_event_;
  std::uint64_t id_ = 0;
  TrueTime last_{0};
  bool lost_ = false;
  Lifetime lifetime_;
};

// A cursor is not resumed exactly: its caller is told to list again.
std::unique_ptr<Watch> FaultyStore::watch(std::string prefix, std::string cursor,
                                          std::function<void(const WatchEvent&)> on_event) {
  if (!shared_->watch) return nullptr;
  if (!cursor.empty()) {
    process_.post(lifetime_.wrap([on_event, cursor] {
      on_event({WatchEvent::Kind::kReset, {}, {}, cursor});
    }));
  }
  return std::make_unique<Subscription>(*this, std::move(prefix), std::move(on_event));
}

}  // namespace muster::sim
