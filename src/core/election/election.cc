#include "core/election/election.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace muster {
namespace {

// Unsettled writes beyond this are forgotten, oldest first. One that then turns up in the store
// is taken for a lapsed term of our own, which is safe: it is acquired anew with a higher epoch.
constexpr std::size_t kSentMax = 16;

/// Who holds, or held until it released, the epoch of a state; empty when that is not said.
Incarnation holder_of(const LeaderState& state) {
  if (state.leader) return state.incarnation;
  const bool told = state.released && state.released->epoch == state.epoch;
  return told ? state.released->incarnation : Incarnation();
}

/// Rule E7: "nobody", without a receipt: what a worker writes that found the state lost.
bool says_nobody(const LeaderState& state) {
  return !state.leader && !state.released;
}

}  // namespace

Election::Election(ElectionConfig config, Random random)
    : config_(std::move(config)),
      random_(random),
      observer_(config_.observed.lease),
      doubted_state_(config_.observed.doubted_state),
      doubted_floor_(config_.observed.doubted_floor),
      doubted_since_(config_.observed.doubted_since),
      longest_lease_seen_(config_.terms.lease),
      resuming_(config_.resumed) {
  MUSTER_CHECK(!resuming_ || config_.renews_when_told);
}

bool Election::leads(MonoTime now) const {
  return term_ && now < term_->deadline;
}

std::optional<WorkerId> Election::leader(MonoTime now) const {
  if (term_) return leads(now) ? std::optional(config_.id) : std::nullopt;
  if (!known_.state || mine(known_.state) || observer_.expired(now)) return {};
  return known_.state->leader;
}

MonoTime Election::leader_until() const {
  if (term_) return term_->deadline;
  const bool other = known_.state && known_.state->leader && !mine(known_.state);
  return other && observer_.seen() ? observer_.expires_at() : MonoTime::min();
}

MonoTime Election::wake_at() const {
  if (stopped_) return MonoTime::max();
  const MonoTime due = phase_ == Phase::kIdle ? wake_at_ : MonoTime::max();
  return term_ ? std::min(due, term_->deadline) : due;
}

ElectionStep Election::finish() {
  return std::exchange(step_, {});
}

void Election::ask(Phase phase, ElectionRequest request) {
  MUSTER_CHECK(phase_ == Phase::kIdle && !step_.request);
  phase_ = phase;
  step_.request = std::move(request);
}

void Election::wait_until(MonoTime when) {
  wake_at_ = when;
}

// However long a store asks for, the next heartbeat looks at it again, and a leader the sooner, the
// less of its lease is left: no lease lasts longer because a store is busy, and a store that
// answers again before the lease ends is asked in time. What does not pass by itself is not asked
// about before the next heartbeat, either.
Duration Election::patience(const Error& error, MonoTime now) {
  const Duration retry = std::min(config_.retry_wait, config_.interval);
  const Duration drawn = random_.between(retry / 2, retry);
  const Duration third = leads(now) ? (term_->deadline - now) / 3 : Duration::max();
  const Duration soon = std::min(drawn, std::max(third, retry / 10));
  const Duration asked = is_lasting(error.code) ? config_.interval : error.retry_after;
  return std::max(soon, std::min({asked, config_.interval, third}));
}

void Election::wait_after_failure(const Error& error, MonoTime now) {
  step_.events.emplace_back(StoreTrouble{error});
  wait_until(now + patience(error, now));
}

void Election::wait_one_interval(MonoTime now) {
  wait_until(now + config_.interval + random_.between(Duration(0), config_.jitter));
}

void Election::note_lapse(MonoTime now) {
  if (term_ && now >= term_->deadline) lose(LossReason::kExpired);
}

void Election::lose(LossReason reason) {
  if (!term_) return;
  step_.events.emplace_back(LostLeadership{term_->epoch, reason});
  term_.reset();
  retry_renewal_ = false;
}

// Rule E2: counted from the send, and a grant that comes after its own end is none. Rule E1: a
// renewal confirmed after the deadline does not revive the term; only a new epoch begins one.
void Election::grant(const Sent& sent, MonoTime now) {
  const MonoTime deadline = config_.terms.deadline(sent.at);
  retry_renewal_ = false;
  if (resigning_ || now >= deadline) return;
  const bool resumed = sent.kind == WriteKind::kRenew && resuming_ == sent.epoch;
  beats_confirmed_ = sent.beat + 1;
  if (sent.kind == WriteKind::kAcquire || resumed) {
    resuming_.reset();
    term_ = Term{sent.epoch, deadline};
    step_.events.emplace_back(BecameLeader{sent.epoch, deadline, sent.beat, resumed});
  } else if (term_ && term_->epoch == sent.epoch) {
    term_->deadline = std::max(term_->deadline, deadline);
    step_.events.emplace_back(LeaseRenewed{sent.epoch, term_->deadline, sent.beat});
  }
}

bool Election::mine(const std::optional<LeaderState>& state) const {
  return state && state->leader == config_.id && state->incarnation == config_.incarnation;
}

// Rule E7: absent after it was seen, not decodable, or one of the past.
bool Election::state_is_lost() const {
  if (!known_.revision) return seen_epoch_ > Epoch(0);
  return !known_.state || state_went_back();
}

// Rule E7: an epoch below one seen before, or one seen before with another holder. Its holder
// could not know of the terms that the store has forgotten.
bool Election::state_went_back() const {
  if (!known_.state) return false;
  if (known_.state->epoch != seen_epoch_) return known_.state->epoch < seen_epoch_;
  const Incarnation holder = holder_of(*known_.state);
  return !holder.value().empty() && !seen_holder_.value().empty() && holder != seen_holder_;
}

void Election::note_epoch() {
  if (!known_.state || known_.state->epoch < seen_epoch_) return;
  if (known_.state->epoch > seen_epoch_) seen_holder_ = Incarnation();
  seen_epoch_ = known_.state->epoch;
  if (seen_holder_.value().empty()) seen_holder_ = holder_of(*known_.state);
}

void Election::learn(Known seen, Epoch at_least, MonoTime now) {
  const bool changed = !known_.read || seen.revision != known_.revision;
  if (changed) {
    settle(seen, now);
    const Known before = std::exchange(known_, std::move(seen));
    turn_at_.reset();
    listed_.reset();
    // The writer of the state has raised the floor before: raising it from what was read then
    // could only fail, and cost the wait after a failure.
    floor_.reset();
    if (doubted_state_ != known_.revision) {
      doubted_state_.reset();
      doubted_floor_.reset();
    }
    report_twin(!before.read);
    report_new_leader(before.state);
    report_lost_state();
  }
  if (known_.state) longest_lease_seen_ = std::max(longest_lease_seen_, known_.state->lease);
  // A lease is as long as its holder wrote. Where that cannot be known, or where a holder may be
  // hidden behind a lost state, it is as long as any lease that may be running.
  const bool told = known_.state && known_.state->lease > Duration(0) && !state_is_lost();
  if (known_.revision) {
    observer_.observe(*known_.revision, told ? known_.state->lease : longest_lease_seen_, now);
  }
  if (!known_.state) seen_epoch_ = std::max(seen_epoch_, at_least);
  note_epoch();
}

// Rule E6: the state has moved on from the revision that all unsettled writes were made at, so
// each of them either is what stands there now or can never land.
void Election::settle(const Known& seen, MonoTime now) {
  const std::vector<Sent> sent = std::exchange(sent_, {});
  if (mine(seen.state)) {
    const auto it = std::find_if(sent.begin(), sent.end(),
                                 [&](const Sent& s) { return s.nonce == seen.state->nonce; });
    if (it != sent.end()) grant(*it, now);
    if (term_ && term_->epoch != seen.state->epoch) lose(LossReason::kStateLost);
    return;
  }
  const bool given_up = seen.state && says_nobody(*seen.state);
  if (term_ && given_up) {
    step_.events.emplace_back(
        StateTrouble{"the state was lost, and another worker wrote \"nobody\" in its place before "
                     "this leader saw it"});
  }
  const bool lost = !seen.state || seen.state->epoch < seen_epoch_ || given_up;
  lose(lost ? LossReason::kStateLost : LossReason::kReplaced);
}

void Election::report_new_leader(const std::optional<LeaderState>& before) {
  const auto holder = [](const std::optional<LeaderState>& state) {
    return state ? state->leader : std::nullopt;
  };
  const auto& after = known_.state;
  const bool same = holder(before) == holder(after) &&
                    (!holder(after) ||
                     (before->epoch == after->epoch && before->incarnation == after->incarnation));
  if (same) return;
  step_.events.emplace_back(LeaderChanged{holder(before), holder(after),
                                          after ? after->epoch : seen_epoch_,
                                          after ? after->incarnation : Incarnation()});
}

ElectionStep Election::wake(MonoTime now) {
  note_lapse(now);
  if (stopped_ || phase_ != Phase::kIdle) return finish();
  const bool due = !config_.renews_when_told || owes_renewal();
  if (leads(now) && !resigning_ && known_.revision && (sent_.empty() || retry_renewal_) && due) {
    renew(now);
  } else {
    ask(Phase::kReadingState, ReadState{known_.revision});
  }
  return finish();
}

ElectionStep Election::tick(MonoTime now) {
  note_lapse(now);
  return finish();
}

// Rule E7: a state that looks like the latest one may be of the past. A leader after it has
// renewed for the last time, and its lease is waited out.
ElectionStep Election::store_went_back(MonoTime now) {
  note_lapse(now);
  doubted_until_ = now + longest_lease_seen_;
  step_.events.emplace_back(
      StateTrouble{"the store went back in time, to an older copy or another store; no leader is "
                   "elected here before the longest lease, " +
                   format_duration(longest_lease_seen_) + ", has passed"});
  return finish();
}

ElectionStep Election::state_read(Result<SeenState> seen, MonoTime now) {
  MUSTER_CHECK(phase_ == Phase::kReadingState);
  phase_ = Phase::kIdle;
  note_lapse(now);
  if (seen) {
    Known known{true, seen->revision, std::move(seen->state), std::move(seen->problem)};
    learn(std::move(known), seen->salvaged, now);
  } else if (seen.is(Errc::kNotFound)) {
    learn(Known{true, {}, {}, {}}, Epoch(0), now);
  } else if (!seen.is(Errc::kUnchanged)) {
    wait_after_failure(seen.error(), now);
    return finish();
  }
  consider(now);
  return finish();
}

void Election::write(WriteKind kind, LeaderState state, MonoTime now) {
  state.nonce = Nonce(random_.uuid());
  state.incarnation = config_.incarnation;
  state.lease = kind == WriteKind::kBarrier ? longest_lease_seen_ : config_.terms.lease;
  if (sent_.size() == kSentMax) sent_.erase(sent_.begin());
  // Others count from the floor that was raised for an acquisition, so its holder does, too. An
  // owner that is elsewhere counts from its beat, which it sent before this write.
  const bool acquires = kind == WriteKind::kAcquire;
  if (acquires || kind == WriteKind::kRenew) own_epoch_ = state.epoch;
  const MonoTime from = acquires ? campaign_began_ : told_ ? told_->at : now;
  const std::uint64_t beat = acquires ? campaign_beat_ : told_ ? told_->number : 0;
  sent_.push_back({state.nonce, from, kind, state.epoch, beat});
  writing_ = state;
  ask(Phase::kWritingState, WriteState{std::move(state), known_.revision});
}

void Election::renew(MonoTime now) {
  LeaderState state = *known_.state;
  state.released.reset();
  state.preferred.reset();
  // The next renewal is due one interval after this one was sent, whatever it takes. No jitter:
  // it spreads the many who look, and would only eat into the time of the one who leads.
  wait_until(now + config_.interval);
  write(WriteKind::kRenew, std::move(state), now);
}

// Rule E5: the term has already ended here. "No holder" keeps the epoch and names what ended.
void Election::release(MonoTime now) {
  LeaderState state = *known_.state;
  state.leader.reset();
  state.released = ReleaseReceipt{config_.id, config_.incarnation, state.epoch};
  state.preferred = resigning_->preferred;
  write(WriteKind::kRelease, std::move(state), now);
}

ElectionStep Election::state_written(Result<Revision> written, MonoTime now) {
  MUSTER_CHECK(phase_ == Phase::kWritingState && !sent_.empty());
  phase_ = Phase::kIdle;
  note_lapse(now);
  if (!written) {
    // Rule E6: whatever went wrong, the write may have landed. Read before acting.
    step_.events.emplace_back(StoreTrouble{written.error()});
    write_failed_ = written.error();
    ask(Phase::kReadingState, ReadState{known_.revision});
    return finish();
  }
  const Sent sent = sent_.back();
  sent_.clear();
  const auto before = std::exchange(known_, Known{true, std::move(*written), writing_, {}}).state;
  lost_told_.clear();
  note_epoch();
  observer_.observe(*known_.revision, writing_.lease, now);
  turn_at_.reset();
  listed_.reset();
  floor_.reset();
  report_new_leader(before);
  if (sent.kind == WriteKind::kRelease && resigning_) {
    finish_resigning(true, now);
  } else {
    grant(sent, now);
    consider(now);
  }
  return finish();
}

void Election::consider(MonoTime now) {
  if (phase_ != Phase::kIdle) return;
  const std::optional<Error> failed = std::exchange(write_failed_, {});
  const bool unsettled = failed && !sent_.empty();
  if (resigning_ && resigning_->without_receipt) return finish_resigning(false, now);
  if (unsettled && !leads(now)) {
    // It may land yet. Trying again at once would only hammer a store that refuses writes.
    return wait_until(now + patience(*failed, now));
  }
  if (resigning_) {
    if (mine(known_.state) && is_own_epoch(known_.state->epoch)) return release(now);
    const auto& receipt = known_.state ? known_.state->released : std::nullopt;
    return finish_resigning(
        receipt && receipt->incarnation == config_.incarnation && is_own_epoch(receipt->epoch),
        now);
  }
  if (leads(now)) {
    // Either the renewal is settled, and the next is due when it was, or it has not landed, and
    // only another compare-and-swap at the same revision may follow.
    retry_renewal_ = !sent_.empty();
    if (retry_renewal_)
      return wait_until(now + patience(failed.value_or(Error{Errc::kAmbiguous, {}}), now));
    // Another server's renewal of this term landed, or a beat came meanwhile.
    if (config_.renews_when_told && owes_renewal()) return renew(now);
    if (config_.renews_when_told) wait_until(term_->deadline);
    return;
  }
  if (resuming_) return resume(now);
  // Rule E7: a term of the past is also ended by a worker that may not campaign itself.
  if (!may_campaign(now) && !state_went_back()) return wait_until_allowed(now);
  switch (claim(now)) {
    case Claim::kUnclear:
      return ask(Phase::kReadingFloor, ReadFloor{});
    case Claim::kHeld:
      wait_one_interval(now);
      return wait_until(std::min(wake_at_, held_until()));
    case Claim::kLost:
      return put_barrier(now);
    case Claim::kFree:
      if (my_turn(now)) campaign(now);
  }
}

ElectionStep Election::resign(ResignOptions options, MonoTime now) {
  note_lapse(now);
  if (resuming_) own_epoch_ = *std::exchange(resuming_, {});
  const bool left = options.without_receipt;
  lose(left ? LossReason::kLeftToExpire : LossReason::kReleased);
  resigning_ = std::move(options);
  if (phase_ != Phase::kIdle) return finish();
  if (!sent_.empty() && !resigning_->without_receipt) {
    ask(Phase::kReadingState, ReadState{known_.revision});
  } else {
    consider(now);
  }
  return finish();
}

void Election::finish_resigning(bool released, MonoTime now) {
  step_.events.emplace_back(Resigned{released});
  stopped_ = stopped_ || resigning_->stop;
  hold_off_until_ = now + resigning_->hold_off;
  resigning_.reset();
  wait_until_allowed(now);
}

}  // namespace muster
