#include "core/candidate/candidate_machine.h"

#include <algorithm>
#include <utility>

namespace muster {

using namespace candidate;

namespace {

// Short terms in a row from which on it is worth a report: one is an accident, two may be.
constexpr std::uint32_t kFlapsReported = 3;

EndReason reason_of(LossReason reason) {
  switch (reason) {
    case LossReason::kReplaced:
      return EndReason::kReplaced;
    case LossReason::kStateLost:
      return EndReason::kStateLost;
    case LossReason::kReleased:
    case LossReason::kLeftToExpire:
    case LossReason::kExpired:
      break;
  }
  return EndReason::kExpired;
}

}  // namespace

const char* to_string(CandidateState state) {
  switch (state) {
    case CandidateState::kIneligible:
      return "ineligible";
    case CandidateState::kStandby:
      return "standby";
    case CandidateState::kTakeoverWait:
      return "takeover-wait";
    case CandidateState::kCampaigning:
      return "campaigning";
    case CandidateState::kStarting:
      return "starting";
    case CandidateState::kLeading:
      return "leading";
    case CandidateState::kStopping:
      return "stopping";
    case CandidateState::kBackoff:
      return "backoff";
    case CandidateState::kPaused:
      return "paused";
  }
  return "unknown";
}

const char* to_string(EndReason reason) {
  switch (reason) {
    case EndReason::kStopped:
      return "stopped";
    case EndReason::kSteppedDown:
      return "stepped-down";
    case EndReason::kPaused:
      return "paused";
    case EndReason::kIneligible:
      return "ineligible";
    case EndReason::kStartFailed:
      return "start-failed";
    case EndReason::kWorkFailed:
      return "work-failed";
    case EndReason::kExpired:
      return "expired";
    case EndReason::kReplaced:
      return "replaced";
    case EndReason::kStateLost:
      return "state-lost";
  }
  return "unknown";
}

CandidateMachine::CandidateMachine(CandidateConfig config, Random random)
    : config_(config), random_(random) {}

std::optional<Epoch> CandidateMachine::epoch() const {
  return term_ ? std::optional(term_->epoch) : std::nullopt;
}

MonoTime CandidateMachine::wake_at() const {
  if (working()) return lease_short_at();
  if (ending_) {
    return std::min(ending_->overdue_at.value_or(MonoTime::max()),
                    ending_->release_by.value_or(MonoTime::max()));
  }
  if (state_ == CandidateState::kBackoff) return backoff_until_;
  if (state_ == CandidateState::kTakeoverWait) return *takeover_at_;
  return MonoTime::max();
}

CandidateActions CandidateMachine::finish() {
  return std::exchange(actions_, {});
}

void CandidateMachine::enter(CandidateState state) {
  if (state == state_) return;
  actions_.emplace_back(StateChange{std::exchange(state_, state), state});
}

void CandidateMachine::gate(bool open) {
  if (open == gate_open_) return;
  gate_open_ = open;
  actions_.emplace_back(SetGate{open});
}

void CandidateMachine::rest(CandidateState state, bool open) {
  enter(state);
  gate(open);
}

bool CandidateMachine::barred(MonoTime now) const {
  return stop_asked_ || stuck_ || paused_ || !config_.eligible || now < backoff_until_;
}

// Once a term short of its deadline by this much has not been renewed, its work must begin to
// stop, or it would not be gone in time.
MonoTime CandidateMachine::lease_short_at() const {
  return term_->deadline - config_.stop_budget - config_.kill_margin;
}

// While renewals come through, work that is stopped cleanly has all the time it needs. Should
// they fail meanwhile, the deadline hurries it, and the loss of the lease ends it.
MonoTime CandidateMachine::graceful_by(MonoTime now) const {
  if (now >= lease_short_at()) return term_->deadline - config_.kill_margin;
  return now + std::max(config_.stop_budget, config_.orderly_stop);
}

// Where a node without a term belongs follows from what it may do and from what it sees.
void CandidateMachine::settle(MonoTime now) {
  if (!started_ || term_ || ending_ || work_runs_) return;
  if (stopped_ || stuck_ || !config_.eligible) return rest(CandidateState::kIneligible, false);
  if (paused_) return rest(CandidateState::kPaused, false);
  if (now < backoff_until_) return rest(CandidateState::kBackoff, false);
  switch (view_) {
    case LeaderView::kUnknown:
    case LeaderView::kFree:
      return rest(CandidateState::kCampaigning, true);
    case LeaderView::kLed:
    case LeaderView::kUnreachable:
      return rest(CandidateState::kStandby, false);
    case LeaderView::kLapsed:
      if (!takeover_at_) {
        const Duration delay = config_.takeover_delay;
        takeover_at_ = now + random_.between(delay, delay + delay / 4);
      }
      if (now < *takeover_at_) return rest(CandidateState::kTakeoverWait, false);
      return rest(CandidateState::kCampaigning, true);
  }
}

CandidateActions CandidateMachine::start(MonoTime now) {
  started_ = true;
  settle(now);
  return finish();
}

void CandidateMachine::expire_if_short(MonoTime now) {
  if (!working() || now < lease_short_at()) return;
  end_term(EndReason::kExpired, "no renewal came through", {},
           term_->deadline - config_.kill_margin, now);
}

CandidateActions CandidateMachine::tick(MonoTime now) {
  expire_if_short(now);
  if (ending_ && ending_->overdue_at && now >= *ending_->overdue_at) {
    report_stuck();
    release(false, now);
  }
  if (ending_ && ending_->release_by && now >= *ending_->release_by) close_term(now);
  settle(now);
  return finish();
}

CandidateActions CandidateMachine::see(LeaderView view, MonoTime now) {
  view_ = view;
  // The silence of a leader is over when a node leads or has released; a store that cannot be
  // reached neither ends it nor begins it anew.
  if (view == LeaderView::kLed || view == LeaderView::kFree) takeover_at_.reset();
  settle(now);
  return finish();
}

CandidateActions CandidateMachine::became_leader(Epoch epoch, MonoTime deadline, MonoTime now) {
  if (term_) report_over();
  term_ = Term{epoch, deadline, now};
  actions_.emplace_back(TermBegan{epoch});
  takeover_at_.reset();
  if (ending_ || work_runs_ || barred(now)) {
    // An acquisition that was under way when this node was told not to campaign.
    if (!ending_) ending_ = Ending{.reason = EndReason::kIneligible};
    ending_->reason = EndReason::kIneligible;
    enter(CandidateState::kStopping);
    release(!work_runs_ && !stuck_, now);
  } else if (now >= lease_short_at()) {
    end_term(EndReason::kExpired, "the acquisition took too long", {}, now, now);
  } else {
    gate(false);
    work_runs_ = true;
    enter(CandidateState::kStarting);
    actions_.emplace_back(StartWork{epoch});
  }
  return finish();
}

CandidateActions CandidateMachine::renewed(MonoTime deadline, MonoTime now) {
  // The work has begun to stop by itself when that was due; a renewal does not undo it.
  expire_if_short(now);
  if (term_ && !term_->lost) term_->deadline = std::max(term_->deadline, deadline);
  return tick(now);
}

CandidateActions CandidateMachine::lost(LossReason reason, MonoTime now) {
  if (!term_ || term_->lost) return finish();
  term_->lost = true;
  // Giving up is our own doing, and is reported once the store has answered.
  if (reason == LossReason::kReleased || reason == LossReason::kLeftToExpire) return finish();
  if (ending_) {
    ending_->reason = reason_of(reason);
    if (work_runs_) {
      actions_.emplace_back(EndDeadline{});
      if (ending_->overdue_at) ending_->overdue_at = now + config_.kill_margin;
    }
  } else {
    actions_.emplace_back(EndDeadline{});
    end_term(reason_of(reason), "", {}, now, now);
  }
  report_over();
  return finish();
}

void CandidateMachine::end_term(EndReason reason, std::string detail,
                                std::optional<WorkerId> preferred, MonoTime by, MonoTime now) {
  ending_ =
      Ending{.reason = reason, .detail = std::move(detail), .preferred = std::move(preferred)};
  enter(CandidateState::kStopping);
  gate(false);
  if (!work_runs_) return release(!stuck_, now);
  actions_.emplace_back(StopWork{by});
  ending_->overdue_at = by + config_.kill_margin;
}

void CandidateMachine::release(bool receipt, MonoTime now) {
  ending_->overdue_at.reset();
  ending_->release_by = now + config_.release_timeout;
  ending_->final = stop_asked_;
  gate(false);
  actions_.emplace_back(Resign{receipt, ending_->preferred, stop_asked_});
}

void CandidateMachine::report_over() {
  if (!term_ || std::exchange(term_->reported_over, true)) return;
  actions_.emplace_back(TermOver{term_->epoch, ending_->reason, ending_->detail});
}

void CandidateMachine::report_stuck() {
  if (std::exchange(ending_->stuck_reported, true)) return;
  actions_.emplace_back(WorkStuck{term_ ? term_->epoch : Epoch(), work_runs_});
}

CandidateActions CandidateMachine::resigned(MonoTime now) {
  if (ending_ && ending_->release_by) close_term(now);
  return finish();
}

// The store has the release, or had its time. Work that still runs keeps this node where it is.
void CandidateMachine::close_term(MonoTime now) {
  report_over();
  if (term_) rest_after(ending_->reason, now);
  term_.reset();
  ending_->release_by.reset();
  const bool final = ending_->final;
  if (!work_runs_) ending_.reset();
  if (final) {
    stopped_ = true;
    ending_.reset();
    actions_.emplace_back(Stopped{});
    rest(CandidateState::kIneligible, false);
  } else if (stop_asked_) {
    if (!ending_) ending_ = Ending{.reason = EndReason::kStopped};
    release(!work_runs_ && !stuck_, now);
  } else {
    settle(now);
  }
}

void CandidateMachine::rest_after(EndReason reason, MonoTime now) {
  if (now - term_->began >= config_.stable_after) short_in_a_row_ = 0;
  switch (reason) {
    case EndReason::kStopped:
    case EndReason::kPaused:  // A resumed node may campaign at once.
    case EndReason::kIneligible:
      return;
    case EndReason::kSteppedDown:
      backoff_until_ = std::max(backoff_until_, now + config_.hold_off);
      return;
    case EndReason::kStartFailed:
    case EndReason::kWorkFailed:
    case EndReason::kExpired:
    case EndReason::kReplaced:
    case EndReason::kStateLost:
      break;
  }
  Duration backoff = config_.backoff_min;
  for (std::uint32_t i = 0; i < short_in_a_row_ && backoff < config_.backoff_max; ++i) {
    backoff *= 2;
  }
  backoff = std::min(backoff, config_.backoff_max);
  backoff = random_.between(backoff / 2, backoff);
  backoff_until_ = now + backoff;
  if (now - term_->began >= config_.stable_after) return;
  ++short_terms_;
  ++short_in_a_row_;
  if (short_in_a_row_ >= kFlapsReported) {
    actions_.emplace_back(Flapping{short_in_a_row_, backoff});
  }
}

CandidateActions CandidateMachine::work_ready(MonoTime now) {
  if (state_ == CandidateState::kStarting) enter(CandidateState::kLeading);
  return tick(now);
}

CandidateActions CandidateMachine::work_failed(std::string why, MonoTime now) {
  // Work that ends because its lease does has not failed, and may say so before our own tick.
  expire_if_short(now);
  if (working()) {
    const bool starting = state_ == CandidateState::kStarting;
    end_term(starting ? EndReason::kStartFailed : EndReason::kWorkFailed, std::move(why), {},
             graceful_by(now), now);
  }
  return finish();
}

CandidateActions CandidateMachine::work_stopped(bool receipt, MonoTime now) {
  if (!work_runs_) return finish();
  work_runs_ = false;
  stuck_ = stuck_ || !receipt;
  if (!ending_) {
    end_term(EndReason::kWorkFailed, "the work stopped by itself", {}, now, now);
    return finish();
  }
  if (!receipt) report_stuck();
  // Also after a release without a receipt: now there is one, and the successor need not wait.
  release(receipt, now);
  return finish();
}

CandidateActions CandidateMachine::pause(MonoTime now) {
  paused_ = true;
  if (working()) end_term(EndReason::kPaused, "", {}, graceful_by(now), now);
  settle(now);
  return finish();
}

CandidateActions CandidateMachine::resume(MonoTime now) {
  paused_ = false;
  settle(now);
  return finish();
}

CandidateActions CandidateMachine::step_down(std::optional<WorkerId> preferred, MonoTime now) {
  if (working()) {
    end_term(EndReason::kSteppedDown, "", std::move(preferred), graceful_by(now), now);
  }
  return finish();
}

CandidateActions CandidateMachine::set_eligible(bool eligible, MonoTime now) {
  config_.eligible = eligible;
  if (!eligible && working()) end_term(EndReason::kIneligible, "", {}, graceful_by(now), now);
  settle(now);
  return finish();
}

CandidateActions CandidateMachine::stop(MonoTime now) {
  if (std::exchange(stop_asked_, true)) return finish();
  if (!started_) {
    started_ = stopped_ = true;
    actions_.emplace_back(Stopped{});
  } else if (working()) {
    end_term(EndReason::kStopped, "", {}, graceful_by(now), now);
  } else if (!ending_ || (!ending_->overdue_at && !ending_->release_by)) {
    // Nothing under way, but an acquisition may be: the election is asked to end that, too.
    if (!ending_) ending_ = Ending{.reason = EndReason::kStopped};
    enter(CandidateState::kStopping);
    release(!work_runs_ && !stuck_, now);
  }
  return finish();
}

}  // namespace muster
