#include "elector/election_driver.h"

#include <algorithm>
#include <utility>

namespace muster {

ElectionDriver::ElectionDriver(Loop& loop, ObjectStore& store, ElectionConfig config,
                               Options options, Hooks hooks, Random random)
    : loop_(loop),
      store_(store),
      config_(config),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      keys_(options_.root.empty() ? NamespaceKeys(options_.name_space)
                                  : NamespaceKeys::below(options_.root)),
      election_(std::move(config), random),
      timer_(loop),
      history_(store.history()) {}

void ElectionDriver::start() {
  wake();
}

void ElectionDriver::nudge() {
  // A request under way may have been answered before the change: look once more after it.
  nudged_ = !election_.idle();
  if (!nudged_) wake();
}

void ElectionDriver::wake() {
  const MonoTime now = loop_.now();
  const bool beats = election_.idle() && !election_.stopped() && hooks_.not_before;
  const MonoTime not_before = beats ? hooks_.not_before(now) : now;
  if (not_before <= now) return perform(election_.wake(now));
  perform(election_.tick(now));
  const MonoTime lapse = election_.deadline().value_or(MonoTime::max());
  timer_.arm(std::min(not_before, lapse), [this] { wake(); });
}

void ElectionDriver::perform(ElectionStep step) {
  // A beat has failed when its last answer was a failure; what was read back is none, and losing
  // a race is none either.
  beat_failed_ = false;
  for (const ElectionEvent& event : step.events) {
    const auto* trouble = std::get_if<StoreTrouble>(&event);
    if (trouble && trouble->error.code != Errc::kConflict) beat_failed_ = true;
  }
  if (step.request) {
    if (!beat_began_) beat_began_ = loop_.now();
    std::visit([this](auto& request) { send(std::move(request)); }, *step.request);
  } else if (beat_began_ && election_.idle()) {
    const MonoTime began = *std::exchange(beat_began_, std::nullopt);
    if (hooks_.on_beat) hooks_.on_beat(began, beat_failed_);
    if (std::exchange(nudged_, false)) loop_.post(lifetime_.wrap([this] { wake(); }));
  }
  arm();
  // Last, since a listener may call back into this object.
  if (!hooks_.on_event) return;
  for (const ElectionEvent& event : step.events) hooks_.on_event(event);
}

// Another request may have found out: the history counts, not the answer.
void ElectionDriver::notice_history() {
  if (std::exchange(history_, store_.history()) == store_.history()) return;
  perform(election_.store_went_back(loop_.now()));
}

void ElectionDriver::arm() {
  const MonoTime due = election_.wake_at();
  if (due == MonoTime::max()) {
    timer_.cancel();
  } else {
    timer_.arm(due, [this] { wake(); });
  }
}

void ElectionDriver::send(ReadState request) {
  store_.get(keys_.state, request.unless, by(), lifetime_.wrap([this](Result<Object> object) {
    notice_history();
    if (!object) return perform(election_.state_read(object.error(), loop_.now()));
    SeenState seen{object->revision, {}, {}, {}};
    auto state = decode_whole(*object, decode_leader_state);
    if (state) {
      seen.state = std::move(*state);
    } else {
      seen.problem = state.error().message;
      seen.salvaged = salvage_epoch(object->body);
    }
    perform(election_.state_read(std::move(seen), loop_.now()));
  }));
}

void ElectionDriver::send(WriteState request) {
  LeaderState& state = request.state;
  // Times for people are taken at the send, like the one that counts.
  state.written_at = loop_.wall_now();
  const auto& last = election_.last_state();
  const bool goes_on = last && last->leader == state.leader && last->epoch == state.epoch;
  if (state.leader && state.epoch != elected_.epoch) {
    elected_ = {state.epoch, goes_on ? last->elected_at : state.written_at};
  }
  if (state.epoch == elected_.epoch) state.elected_at = elected_.at;
  state.elected_by = config_.id.value();
  state.leader_pod = options_.pod;
  state.value = state.leader ? options_.value : "";
  if (hooks_.workers) state.workers = hooks_.workers();
  if (hooks_.timeouts) state.worker_timeouts = hooks_.timeouts();
  const Precondition when = request.at ? Precondition::at(*request.at) : Precondition::absent();
  store_.put(keys_.state, encode(state), when, by(),
             lifetime_.wrap([this](Result<Revision> written) {
               notice_history();
               perform(election_.state_written(std::move(written), loop_.now()));
             }));
}

void ElectionDriver::send(ReadFloor) {
  store_.get(keys_.metadata, {}, by(), lifetime_.wrap([this](Result<Object> object) {
    notice_history();
    metadata_body_.clear();
    if (!object) return perform(election_.floor_read(object.error(), loop_.now()));
    SeenFloor seen{object->revision, {}, {}, {}};
    const auto metadata = decode_whole(*object, decode_metadata);
    if (metadata) {
      seen.floor = metadata->epoch_floor;
      seen.lease_max = metadata->lease_max;
      metadata_ = *metadata;
      metadata_body_ = object->body;
    } else {
      seen.problem = metadata.error().message;
      seen.newer = metadata.is(Errc::kUnsupported);
    }
    perform(election_.floor_read(std::move(seen), loop_.now()));
  }));
}

void ElectionDriver::send(RaiseFloor request) {
  NamespaceMetadata metadata;
  if (!metadata_body_.empty() && metadata_) {
    metadata = *metadata_;
  } else {
    metadata.creator = config_.id.value();
    metadata.created_at = loop_.wall_now();
    metadata.heartbeat_interval = options_.heartbeat_interval;
    metadata.lease_timeout = config_.terms.lease;
    metadata.worker_timeout = options_.worker_timeout;
  }
  metadata.epoch_floor = request.floor;
  metadata.lease_max = request.lease_max;
  const Precondition when = request.at ? Precondition::at(*request.at) : Precondition::absent();
  store_.put(keys_.metadata, encode(metadata, metadata_body_), when, by(),
             lifetime_.wrap([this](Result<Revision> written) {
               notice_history();
               perform(election_.floor_raised(std::move(written), loop_.now()));
             }));
}

void ElectionDriver::send(ListWorkers) {
  list_all(store_, keys_.workers, loop_, options_.request_timeout,
           lifetime_.wrap([this](Result<ListPage> page) {
             notice_history();
             if (!page) return perform(election_.workers_listed(page.error(), loop_.now()));
             std::vector<WorkerId> workers;
             for (const ListedObject& object : page->objects) {
               if (auto id = keys_.worker_of(object.key)) workers.push_back(std::move(*id));
             }
             perform(election_.workers_listed(std::move(workers), loop_.now()));
           }));
}

}  // namespace muster
