// The part of the election of a worker whose term's owner is elsewhere (E11): it renews when told,
// and goes on with a term that began elsewhere. The rest is in election.cc.

#include <utility>

#include "base/check.h"
#include "core/election/election.h"

namespace muster {

ElectionStep Election::told(std::uint64_t beat, MonoTime now) {
  MUSTER_CHECK(config_.renews_when_told && (!told_ || beat > told_->number));
  note_lapse(now);
  const bool silent = !owner_beats(now);
  told_ = Beat{beat, now};
  // A request under way may be of an earlier beat; what it finds is considered with this one.
  if (phase_ == Phase::kIdle && (leads(now) || silent)) return wake(now);
  return finish();
}

// An owner that went silent would not learn of its term in time.
bool Election::owner_beats(MonoTime now) const {
  if (!config_.renews_when_told) return true;
  return told_ && now < told_->at + config_.terms.held() / 2;
}

// The owner may lead a later term through another server, which is not for this worker to end.
bool Election::is_own_epoch(Epoch epoch) const {
  return !config_.renews_when_told || epoch == own_epoch_;
}

bool Election::owes_renewal() const {
  return told_ && told_->number >= beats_confirmed_;
}

// Rule E1: only the incarnation that holds the state renews it, and not after the owner's deadline;
// the owner itself knows that more exactly, and takes no confirmation that comes later.
void Election::resume(MonoTime now) {
  const bool shown = mine(known_.state) && known_.state->epoch == *resuming_;
  const bool late = !told_ || now >= config_.terms.deadline(told_->at);
  if (shown && !late) return renew(now);
  const LossReason why = late            ? LossReason::kExpired
                         : !known_.state ? LossReason::kStateLost
                                         : LossReason::kReplaced;
  step_.events.emplace_back(LostLeadership{*std::exchange(resuming_, {}), why});
  stopped_ = true;
}

}  // namespace muster
