#include "elector/worker_registration.h"

#include <algorithm>
#include <utility>

namespace muster {

WorkerRegistration::WorkerRegistration(Loop& loop, ObjectStore& store, Key key, WorkerRecord record,
                                       Options options, Hooks hooks, Random random)
    : loop_(loop),
      store_(store),
      key_(std::move(key)),
      record_(std::move(record)),
      options_(options),
      hooks_(std::move(hooks)),
      random_(random),
      retry_(loop) {}

void WorkerRegistration::start(std::function<void()> attempted) {
  attempted_ = std::move(attempted);
  record_.registered_at = loop_.wall_now();
  write();
}

void WorkerRegistration::beat(bool shown_otherwise) {
  if (in_flight_ || duplicate_ || gone_ || stopping_ || retry_.armed()) return;
  // A little less than half the timeout: a write that comes a heartbeat late and is lost twice is
  // still repeated in time.
  const bool due = loop_.now() - sent_at_ >= scale(options_.worker_timeout, 0.45);
  if (outage_ || changed_ || (due && !shown_otherwise)) write();
}

void WorkerRegistration::listed(const std::optional<Revision>& revision, MonoTime began) {
  if (in_flight_ || gone_ || stopping_ || !registered_ || began <= settled_at_) return;
  if (revision == revision_) return;
  if (!revision) {
    // The process that had taken the file over has left, and has taken it along.
    duplicate_ = false;
    revision_.reset();
  }
  changed_ = true;
}

void WorkerRegistration::stand_aside(std::string why) {
  if (why == record_.aside) return;
  record_.aside = std::move(why);
  changed_ = true;
}

void WorkerRegistration::write() {
  in_flight_ = true;
  changed_ = false;
  sent_at_ = loop_.now();
  record_.nonce = Nonce(random_.uuid());
  record_.outage = outage_;
  record_.last_heartbeat = loop_.wall_now();
  record_.expires_at =
      record_.last_heartbeat +
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.worker_timeout);
  const Precondition when = revision_ ? Precondition::at(*revision_) : Precondition::absent();
  store_.put(key_, encode(record_), when, loop_.now() + options_.request_timeout,
             lifetime_.wrap([this, nonce = record_.nonce](Result<Revision> result) {
               written(nonce, std::move(result));
             }));
}

void WorkerRegistration::written(const Nonce& nonce, Result<Revision> result) {
  if (!result) {
    refused_ = !result.is(Errc::kConflict);
    asked_ = result.error().retry_after;
    if (hooks_.on_error && refused_) hooks_.on_error(result.error());
    return read_back(nonce);
  }
  revision_ = std::move(*result);
  settled(true);
}

void WorkerRegistration::read_back(const Nonce& nonce) {
  store_.get(
      key_, {}, loop_.now() + options_.request_timeout,
      lifetime_.wrap([this, nonce](const Result<Object>& object) { compare(nonce, object); }));
}

// What stands in the file now decides what may be written next, and at which revision.
void WorkerRegistration::compare(const Nonce& nonce, const Result<Object>& object) {
  if (object.is(Errc::kNotFound)) {
    revision_.reset();
    return settled(false);
  }
  if (!object) {
    if (hooks_.on_error) hooks_.on_error(object.error());
    return settled(false);
  }
  const auto found = decode_whole(*object, decode_worker);
  const bool ours = found && found->incarnation == record_.incarnation;
  if (ours && found->nonce == nonce) {
    revision_ = object->revision;
    return settled(true);
  }
  // A file marked for sweeping will be removed by a leader that looks no more: keep away from it.
  if (found && found->sweep) return settled(false);
  // In a store that went back, an earlier life of ours may stand there again.
  const bool free = !found || found->stopped || found->incarnation.value().empty() ||
                    store_.history() != history_;
  if (!ours && !free && registered_) {
    duplicate_ = true;
    if (hooks_.on_duplicate) hooks_.on_duplicate(found->incarnation);
    return settled(false);
  }
  // A tombstone, garbage, an earlier life of ours, or a process that started before us with our
  // id; in the last case that one finds out and reports it.
  revision_ = object->revision;
  settled(false);
}

void WorkerRegistration::settled(bool ok) {
  in_flight_ = false;
  settled_at_ = loop_.now();
  registered_ = registered_ || ok;
  if (ok) history_ = store_.history();
  // Another one may have ended while this was on its way.
  if (ok && record_.outage == outage_ && std::exchange(outage_, std::nullopt)) changed_ = true;
  // A store that refuses the file is no reason to stay away from elections for ever.
  if (attempted_ && (ok || !revision_ || refused_)) std::exchange(attempted_, nullptr)();
  if (stopping_) return leave();
  failures_ = ok ? 0 : failures_ + 1;
  if (ok || duplicate_) return;
  // At once only where another's file stood, and now its revision is known.
  const bool taking_over = revision_.has_value() && !registered_ && !refused_;
  retry_.arm(taking_over ? Duration(0) : patience(), [this] { write(); });
}

// A heartbeat at most, so that a worker is in the list again soon after its store is well again.
Duration WorkerRegistration::patience() {
  const Duration most = std::max(options_.heartbeat_interval, options_.retry_wait);
  const Duration backoff = options_.retry_wait * (1U << std::min(failures_ - 1, 10U));
  const Duration wait = std::clamp(std::max(backoff, asked_), options_.retry_wait, most);
  return random_.between(wait / 2, wait);
}

void WorkerRegistration::stop(std::function<void()> done) {
  stopping_ = std::move(done);
  retry_.cancel();
  if (!in_flight_) leave();
}

void WorkerRegistration::leave() {
  if (std::exchange(gone_, true) || !revision_ || duplicate_ || !registered_) return left();
  const Deadline by = loop_.now() + options_.request_timeout;
  if (store_.capabilities().conditional_remove) {
    store_.remove(key_, revision_, by, lifetime_.wrap([this](const Status&) { left(); }));
    return;
  }
  // Nobody writes over the mark, so the removal that follows hits nothing else.
  record_.stopped = true;
  record_.sweep = true;
  record_.outage = outage_;
  record_.nonce = Nonce(random_.uuid());
  record_.last_heartbeat = loop_.wall_now();
  store_.put(key_, encode(record_), Precondition::at(*revision_), by,
             lifetime_.wrap([this](const Result<Revision>& marked) {
               if (!marked) return left();
               store_.remove(key_, {}, loop_.now() + options_.request_timeout,
                             lifetime_.wrap([this](const Status&) { left(); }));
             }));
}

// Whether the file could be removed or not: if not, it falls silent and times out like a crash.
void WorkerRegistration::left() {
  if (stopping_) std::exchange(stopping_, nullptr)();
}

}  // namespace muster
