// The part of the election in which a worker tries to become the leader: may it, is it its turn,
// and the two writes of an acquisition. The rest is in election.cc.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/election/election.h"

namespace muster {

// Who may be acquired from, and when (rules E3, E5, E7, E9).
Election::Claim Election::claim(MonoTime now) const {
  const bool lost = !known_.revision || state_is_lost();
  // Only the floor tells a namespace that is new from one whose state was lost, and how long a
  // lease may be running that the state no longer shows.
  if (lost && !floor_) return Claim::kUnclear;
  const bool brand_new = lost && !known_.revision && !floor_->revision && seen_epoch_ == Epoch(0);
  if (brand_new) return Claim::kFree;
  if (!known_.revision) return Claim::kVanished;
  if (lost) return observer_.expired(now) ? Claim::kFree : Claim::kHeld;
  const LeaderState& state = *known_.state;
  // Nobody, without a receipt and by one of us, is the barrier of E7.
  const bool barrier = !state.released && !state.nonce.value().empty();
  if ((!state.leader && !barrier) || mine(known_.state)) return Claim::kFree;
  // Rule E9: somebody who knows no incarnations elected us; that is no leadership of anybody.
  if (state.leader == config_.id && state.incarnation.value().empty()) return Claim::kFree;
  return observer_.expired(now) ? Claim::kFree : Claim::kHeld;
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
  step_.events.emplace_back(ElectionStarted{});
  campaign_began_ = now;
  next_epoch_ = next(std::max({seen_epoch_, floor_->epoch, above_}));
  ask(Phase::kRaisingFloor, RaiseFloor{next_epoch_, longest_lease_seen_, floor_->revision});
  floor_.reset();
}

bool Election::refuses_without_floor(MonoTime now) {
  if (floor_->problem.empty() || (known_.revision && !state_is_lost())) return false;
  step_.events.emplace_back(
      StateTrouble{"neither the state nor the epoch floor can be read (" + floor_->problem +
                   "); refusing to elect until an operator restores metadata.json"});
  floor_.reset();
  wait_one_interval(now);
  return true;
}

// Rule E7: two looks that both found nothing do not show what was there between them, and a leader
// may have come, and its state gone, while we were not looking. So "nobody" is written down first:
// from then on no renewal of a hidden leader can land, and its lease is waited out from there.
void Election::put_barrier(MonoTime now) {
  if (refuses_without_floor(now)) return;
  // Somebody may just be about to acquire: the floor is raised before that.
  const MonoTime due = observer_.first_seen_at() + config_.interval;
  if (now < due) return wait_until(due);
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
    floor_ = Floor{seen->revision, seen->floor, std::move(seen->problem)};
  } else if (seen.is(Errc::kNotFound)) {
    floor_ = Floor{};
  } else {
    wait_after_failure(seen.error(), now);
    return finish();
  }
  if (!known_.revision) {
    // An absent state has no revision to tell one absence from the next, but whoever acquired in
    // between has raised the floor.
    observer_.observe(Revision("(absent) " + floor_->revision.value_or(Revision()).value()),
                      longest_lease_seen_, now);
  } else if (state_is_lost()) {
    observer_.lengthen(longest_lease_seen_);
  }
  consider(now);
  return finish();
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
  // Where nothing is known to stand, only the floor keeps others away, and not for ever.
  const bool late = !known_.revision && now - campaign_began_ >= config_.terms.lease / 2;
  if (resigning_ || late || !may_campaign(now)) {
    consider(now);
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

}  // namespace muster
