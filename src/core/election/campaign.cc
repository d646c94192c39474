// The part of the election in which a worker tries to become the leader: may it, is it its turn,
// and the two writes of an acquisition; and what is reported of the state. The rest is in
// election.cc.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/election/election.h"

namespace muster {

// Rules E3, E5, E9: until when the state itself keeps us away; in the past when it does not.
MonoTime Election::holder_until() const {
  if (!known_.state || state_is_lost()) return MonoTime::min();
  const LeaderState& state = *known_.state;
  if (!state.leader && !is_barrier()) return MonoTime::min();
  // A term of this incarnation is over if this worker does not have it, unless its owner has it
  // through another server.
  if (mine(known_.state) && !config_.renews_when_told) return MonoTime::min();
  // A worker that knows no incarnations elected us; that is no leadership at all.
  if (state.leader == config_.id && state.incarnation.value().empty()) return MonoTime::min();
  return observer_.expires_at();
}

// Rule E7: nobody, without a receipt and by one of us.
bool Election::is_barrier() const {
  const auto& state = known_.state;
  return state && !state->leader && !state->released && !state->nonce.value().empty();
}

// Rule E7: a worker that acquires has raised the floor before. A state below a floor that another
// has raised may hide that other: the acquisition is under way, or was given up, or this state is
// an old one that was put back.
bool Election::may_hide_a_leader() const {
  if (!known_.revision || !floor_) return false;
  if (state_is_lost()) return true;
  return floor_->revision && floor_->revision != raised_ && known_.state->epoch < floor_->epoch;
}

MonoTime Election::held_until() const {
  const MonoTime hidden =
      may_hide_a_leader() ? doubted_since_ + longest_lease_seen_ : MonoTime::min();
  return std::max({holder_until(), hidden, doubted_until_});
}

// Who may be acquired from, and when.
Election::Claim Election::claim(MonoTime now) const {
  // Also while its holder renews: who acquired in a past that came back uses an epoch twice.
  if (state_went_back()) return floor_ ? Claim::kLost : Claim::kUnclear;
  if (now < held_until()) return Claim::kHeld;
  // Only the floor tells a namespace that is new from one whose state was lost, and how long a
  // lease may be running that the state no longer shows.
  if (!floor_ && (!known_.revision || state_is_lost())) return Claim::kUnclear;
  // Whether this is the latest state is seen when the floor is read for the campaign.
  if (known_.revision) return Claim::kFree;
  const bool brand_new = !floor_->revision && seen_epoch_ == Epoch(0);
  return brand_new ? Claim::kFree : Claim::kLost;
}

// Rule E4: the first live worker by bytes tries at once, everybody else after one jittered wait.
// The list is a hint: a dead first worker costs that wait and no more.
bool Election::my_turn(MonoTime now) {
  if (turn_at_) {
    if (now >= *turn_at_) return true;
    wait_until(*turn_at_);
    return false;
  }
  const LeaderState* state = known_.state ? &*known_.state : nullptr;
  if (mine(known_.state)) return true;
  if (state && state->leader == config_.id) return true;
  const bool published = state && !state->workers.empty();
  if (!published && !listed_) {
    ask(Phase::kListing, ListWorkers{});
    return false;
  }
  const std::vector<WorkerId>& live = published ? state->workers : *listed_;
  WorkerId first = config_.id;
  for (const WorkerId& worker : live) {
    const bool gone = state && (state->leader == worker ||
                                (state->released && state->released->worker == worker));
    if (!gone) first = std::min(first, worker);
  }
  if (state && state->preferred) first = *state->preferred;
  if (first == config_.id) return true;
  // One who is meant to follow may learn of it only at its next heartbeat.
  const Duration head_start = state && state->preferred ? config_.interval + config_.jitter : 0s;
  turn_at_ = now + head_start + random_.between(config_.turn_wait / 2, config_.turn_wait);
  wait_until(*turn_at_);
  return false;
}

// Rule E7: the floor is raised before the epoch is used, so that a state lost later is recovered
// above it.
void Election::campaign(MonoTime now) {
  if (!floor_) return ask(Phase::kReadingFloor, ReadFloor{});
  if (refuses_without_floor(now)) return;
  next_epoch_ = next(std::max({seen_epoch_, floor_->epoch, above_}));
  if (next_epoch_ > kEpochMax) {
    // What nobody could read is not written: neither state nor floor could be told from damage.
    step_.events.emplace_back(StateTrouble{
        "no epoch is left after " + std::to_string(next_epoch_.value() - 1) +
        "; refusing to elect until an operator removes state.json and restores metadata.json"});
    floor_.reset();
    return wait_one_interval(now);
  }
  step_.events.emplace_back(ElectionStarted{});
  campaign_began_ = told_ ? told_->at : now;
  campaign_beat_ = told_ ? told_->number : 0;
  ask(Phase::kRaisingFloor, RaiseFloor{next_epoch_, longest_lease_seen_, floor_->revision});
  floor_.reset();
}

bool Election::refuses_without_floor(MonoTime now) {
  const bool damaged = !floor_->problem.empty();
  const bool unknown = known_.revision ? state_is_lost() : damaged;
  // A state that tells nothing, where a floor should be and is not: no namespace is new like that.
  const bool gone = !damaged && !floor_->revision && !known_.state && seen_epoch_ == Epoch(0);
  if (!floor_->newer && !(unknown && (damaged || gone))) return false;
  const std::string why = gone ? "metadata.json is missing" : floor_->problem;
  step_.events.emplace_back(StateTrouble{
      (floor_->newer ? "the epoch floor cannot be read ("
                     : "neither the state nor the epoch floor can be read (") +
      why + "); refusing to elect until " +
      (floor_->newer ? "this worker is upgraded" : "an operator restores metadata.json")});
  floor_.reset();
  wait_one_interval(now);
  return true;
}

// Rule E7: two looks that both found nothing do not show what was there between them, and a leader
// may have come, and its state gone, while we were not looking. So "nobody" is written down first:
// from then on no renewal of a hidden leader can land, and its lease is waited out from there. A
// state of the past is replaced likewise, with the highest epoch that was seen.
void Election::put_barrier(MonoTime now) {
  if (refuses_without_floor(now)) return;
  // A worker may just be about to acquire: the floor is raised before that.
  const MonoTime due = observer_.first_seen_at() + config_.turn_wait;
  if (!known_.revision && now < due) return wait_until(due);
  LeaderState state;
  state.epoch = std::max(seen_epoch_, floor_->epoch);
  wait_one_interval(now);
  write(WriteKind::kBarrier, std::move(state), now);
}

ElectionStep Election::workers_listed(Result<std::vector<WorkerId>> workers, MonoTime now) {
  MUSTER_CHECK(phase_ == Phase::kListing);
  phase_ = Phase::kIdle;
  note_lapse(now);
  if (!workers) {
    wait_after_failure(workers.error(), now);
    return finish();
  }
  listed_ = std::move(*workers);
  consider(now);
  return finish();
}

ElectionStep Election::floor_read(Result<SeenFloor> seen, MonoTime now) {
  MUSTER_CHECK(phase_ == Phase::kReadingFloor);
  phase_ = Phase::kIdle;
  note_lapse(now);
  if (seen) {
    longest_lease_seen_ = std::max(longest_lease_seen_, seen->lease_max);
    floor_ = Floor{seen->revision, seen->floor, std::move(seen->problem), seen->newer};
  } else if (seen.is(Errc::kNotFound)) {
    floor_ = Floor{};
  } else {
    wait_after_failure(seen.error(), now);
    return finish();
  }
  if (!known_.revision) {
    // An absent state has no revision to tell one absence from the next, but a worker that acquired
    // in between has raised the floor.
    observer_.observe(Revision("(absent) " + floor_->revision.value_or(Revision()).value()),
                      longest_lease_seen_, now);
  } else if (is_barrier()) {
    // Its writer may not have known of the longest lease yet.
    observer_.lengthen(longest_lease_seen_);
  }
  doubt(now);
  consider(now);
  return finish();
}

// Together they change with every acquisition, also where an old state was put back as it was.
void Election::doubt(MonoTime now) {
  if (doubted_state_ == known_.revision && doubted_floor_ == floor_->revision) return;
  doubted_state_ = known_.revision;
  doubted_floor_ = floor_->revision;
  doubted_since_ = now;
}

ElectionStep Election::floor_raised(Result<Revision> written, MonoTime now) {
  MUSTER_CHECK(phase_ == Phase::kRaisingFloor);
  phase_ = Phase::kIdle;
  note_lapse(now);
  if (!written) {
    // Lost to another, or perhaps not: the next attempt reads it again. A floor that is raised
    // and not used costs a number.
    wait_after_failure(written.error(), now);
    return finish();
  }
  raised_ = doubted_floor_ = *written;
  // It took so long that the term would be over before it began.
  const bool late = now >= config_.terms.deadline(campaign_began_);
  if (late) {
    consider(now);
    return finish();
  }
  if (resigning_ || !may_campaign(now)) {
    give_back(now);
    return finish();
  }
  LeaderState state = known_.state.value_or(LeaderState{});
  state.leader = config_.id;
  state.epoch = next_epoch_;
  state.released.reset();
  state.preferred.reset();
  wait_until(now + config_.interval);
  write(WriteKind::kAcquire, std::move(state), now);
  return finish();
}

// The floor was raised for a term that will not begin. Left so, everybody would wait a lease for
// its leader; a receipt for that epoch says that there was none.
void Election::give_back(MonoTime now) {
  if (resigning_ && resigning_->without_receipt) return consider(now);
  LeaderState state = known_.state.value_or(LeaderState{});
  state.leader.reset();
  state.epoch = next_epoch_;
  state.released = ReleaseReceipt{config_.id, config_.incarnation, next_epoch_};
  state.preferred = resigning_ ? resigning_->preferred : std::nullopt;
  wait_one_interval(now);
  write(WriteKind::kRelease, std::move(state), now);
}

ElectionStep Election::set_eligible(bool eligible, MonoTime now) {
  eligible_ = eligible;
  if (phase_ == Phase::kIdle && !term_) wait_until(now);
  return finish();
}

// The end of a hold-off is not waited for any longer than it lasts.
void Election::wait_until_allowed(MonoTime now) {
  wait_one_interval(now);
  if (now < hold_off_until_) wait_until(std::min(wake_at_, hold_off_until_));
}

// Rule E8: a process with our id that writes while we look on. What stood there at our first look
// may come from an earlier life of ours that was killed, and restarting is no mistake.
void Election::report_twin(bool first_look) {
  const auto& state = known_.state;
  if (first_look || !state || state->leader != config_.id || mine(state)) return;
  if (state->incarnation.value().empty() || state->incarnation == reported_twin_) return;
  reported_twin_ = state->incarnation;
  step_.events.emplace_back(DuplicateWorker{state->incarnation});
}

// Once for each finding: a leader of the past that renews writes the same state again and again.
void Election::report_lost_state() {
  std::string problem;
  if (state_is_lost()) {
    problem = !known_.revision ? "the state has vanished"
              : known_.state
                  ? "the state went back to epoch " + std::to_string(known_.state->epoch.value())
                  : known_.problem;
  }
  const bool told = problem == lost_told_;
  lost_told_ = std::move(problem);
  if (!told && !lost_told_.empty()) step_.events.emplace_back(StateTrouble{lost_told_});
}

const char* to_string(LossReason reason) {
  switch (reason) {
    case LossReason::kReleased:
      return "released";
    case LossReason::kLeftToExpire:
      return "left to expire";
    case LossReason::kExpired:
      return "expired";
    case LossReason::kReplaced:
      return "replaced";
    case LossReason::kStateLost:
      return "state lost";
  }
  return "unknown";
}

}  // namespace muster
