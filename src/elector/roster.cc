#include "elector/roster.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

/// After one list, so that sweeping takes no longer than the pause before the next one.
constexpr std::size_t kSweptMax = 20;

}  // namespace

Roster::Roster(Loop& loop, ObjectStore& store, const NamespaceKeys& keys, Options options,
               Hooks hooks, Random random)
    : loop_(loop),
      store_(store),
      keys_(keys),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      random_(random),
      tracker_(options_.worker_timeout),
      live_{options_.self} {}

void Roster::beat(Duration interval) {
  if (busy_ || (listed_at_ && loop_.now() - *listed_at_ < interval)) return;
  busy_ = true;
  listed_at_ = loop_.now();
  list_all(store_, keys_.root, loop_, options_.request_timeout,
           lifetime_.wrap([this](Result<ListPage> page) { listed(std::move(page)); }));
}

void Roster::forget() {
  tracker_.look_away(adopted_ ? std::optional(live_) : std::nullopt);
  timeouts_ = 0;
  condemned_.clear();
  doomed_.clear();
  listed_at_.reset();
}

void Roster::adopt(const LeaderState& published) {
  // What a leader had counted before this worker first looked does not count here.
  const bool first = !adopted_;
  const bool same =
      adopted_ && adopted_->epoch == published.epoch && adopted_->leader == published.incarnation;
  const std::uint64_t counted = first ? published.worker_timeouts : same ? adopted_->timeouts : 0;
  const std::uint64_t timed_out =
      published.worker_timeouts - std::min(counted, published.worker_timeouts);
  adopted_ = Adopted{published.incarnation, published.epoch, published.worker_timeouts};
  std::vector<WorkerId> next = published.workers;
  if (!std::binary_search(next.begin(), next.end(), options_.self)) {
    next.insert(std::lower_bound(next.begin(), next.end(), options_.self), options_.self);
  }
  if (next == live_ && timed_out == 0) return;
  const auto appeared =
      static_cast<std::size_t>(std::count_if(next.begin(), next.end(), [this](const WorkerId& id) {
        return !std::binary_search(live_.begin(), live_.end(), id);
      }));
  live_ = std::move(next);
  if (hooks_.on_change) hooks_.on_change(appeared, static_cast<std::size_t>(timed_out));
}

void Roster::listed(Result<ListPage> page) {
  busy_ = false;
  if (!page) {
    if (hooks_.on_error) hooks_.on_error(page.error());
    return;
  }
  std::vector<WorkerTracker::Sighting> files;
  std::optional<Revision> own;
  for (ListedObject& object : page->objects) {
    if (object.key == keys_.control && hooks_.on_control) hooks_.on_control(object.revision);
    auto id = keys_.worker_of(object.key);
    if (id == options_.self) own = object.revision;
    if (!id || *id == options_.self) continue;
    const auto condemned = condemned_.find(*id);
    if (condemned != condemned_.end() && condemned->second == object.revision) continue;
    files.push_back({std::move(*id), std::move(object.revision)});
  }
  if (hooks_.on_self && listed_at_) hooks_.on_self(own, *listed_at_);
  const WorkerTracker::Changes changes = tracker_.observe(files, loop_.now());
  timeouts_ += changes.timed_out.size();
  refresh(changes.appeared.size(), changes.timed_out.size());
  for (WorkerTracker::Silent& file : tracker_.silent(loop_.now())) {
    if (file.silence >= options_.sweep_after) doomed_.push_back(std::move(file));
  }
  if (doomed_.size() > kSweptMax) doomed_.resize(kSweptMax);
  sweep_next();
}

void Roster::refresh(std::size_t appeared, std::size_t timed_out) {
  std::vector<WorkerId> next = tracker_.live();
  next.insert(std::lower_bound(next.begin(), next.end(), options_.self), options_.self);
  const bool changed = next != live_;
  live_ = std::move(next);
  if ((changed || timed_out > 0) && hooks_.on_change) hooks_.on_change(appeared, timed_out);
}

void Roster::sweep_next() {
  busy_ = !doomed_.empty();
  if (!busy_) return;
  const WorkerTracker::Silent file = std::move(doomed_.back());
  doomed_.pop_back();
  sweep(file);
}

void Roster::sweep(const WorkerTracker::Silent& file) {
  const Deadline by = loop_.now() + options_.request_timeout;
  const Key key = keys_.worker(file.id);
  if (store_.capabilities().conditional_remove) {
    store_.remove(key, file.revision, by, lifetime_.wrap([this](const Status&) { sweep_next(); }));
    return;
  }
  store_.get(key, {}, by, lifetime_.wrap([this, file](const Result<Object>& object) {
    if (object && object->revision == file.revision) return condemn(file, *object);
    sweep_next();
  }));
}

// Where the store cannot remove at a revision, the file is marked first, by compare-and-swap.
// Nobody writes over the mark, so the removal that follows, by this leader or a later one, cannot
// hit a worker that came back.
void Roster::condemn(const WorkerTracker::Silent& file, const Object& object) {
  const Deadline by = loop_.now() + options_.request_timeout;
  const Key key = keys_.worker(file.id);
  const auto found = decode_whole(object, decode_worker);
  if (found && found->sweep) {
    store_.remove(key, {}, by, lifetime_.wrap([this](const Status&) { sweep_next(); }));
    return;
  }
  WorkerRecord mark;
  mark.worker = file.id;
  mark.nonce = Nonce(random_.uuid());
  mark.last_heartbeat = loop_.wall_now();
  mark.stopped = true;
  mark.sweep = true;
  store_.put(key, encode(mark), Precondition::at(file.revision), by,
             lifetime_.wrap([this, id = file.id, key](Result<Revision> written) {
               if (!written) return sweep_next();
               condemned_[id] = *written;
               store_.remove(key, {}, loop_.now() + options_.request_timeout,
                             lifetime_.wrap([this](const Status&) { sweep_next(); }));
             }));
}

}  // namespace muster
