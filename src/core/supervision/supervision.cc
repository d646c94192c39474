#include "core/supervision/supervision.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster {
namespace {

/// `d` before `t`; the beginning of time when `t` is that early, as a closed lease's deadline is.
MonoTime before(MonoTime t, Duration d) {
  return t < MonoTime(d) ? MonoTime{} : t - d;
}

void take_earlier(std::optional<MonoTime>& earliest, std::optional<MonoTime> other) {
  if (other && (!earliest || *other < *earliest)) earliest = other;
}

}  // namespace

const char* to_string(EndCause cause) {
  switch (cause) {
    case EndCause::kRequested:
      return "requested";
    case EndCause::kDeadline:
      return "deadline";
    case EndCause::kFinished:
      return "finished";
    case EndCause::kRestartsExhausted:
      return "restarts-exhausted";
    case EndCause::kStartFailed:
      return "start-failed";
    case EndCause::kLost:
      return "lost";
  }
  return "unknown";
}

Supervision::Supervision(SupervisionOptions options, std::vector<ChildRules> rules)
    : options_(options) {
  MUSTER_CHECK(!rules.empty());
  for (const ChildRules& each : rules) {
    children_.emplace_back();
    children_.back().rules = each;
  }
}

SupervisionActions Supervision::start(MonoTime deadline, MonoTime now) {
  MUSTER_CHECK(phase_ == Phase::kNew);
  phase_ = Phase::kUp;
  deadline_ = deadline;
  return advance(now);
}

SupervisionActions Supervision::stop(MonoTime by, MonoTime now) {
  MUSTER_CHECK(phase_ != Phase::kNew);
  stop_by_ = std::min(stop_by_, by);
  if (phase_ == Phase::kUp) begin_stop(EndCause::kRequested, SupervisionAction::kNoChild);
  return advance(now);
}

SupervisionActions Supervision::deadline_moved(MonoTime deadline, MonoTime now) {
  // A renewal that comes when the stop was already due is too late to undo it.
  SupervisionActions due = advance(now);
  deadline_ = deadline;
  const SupervisionActions more = advance(now);
  due.insert(due.end(), more.begin(), more.end());
  return due;
}

SupervisionActions Supervision::tick(MonoTime now) {
  return advance(now);
}

SupervisionActions Supervision::child_started(std::size_t child, MonoTime now) {
  Child& c = children_.at(child);
  if (c.state == State::kStarting) enter(c, State::kStarted, now);
  return advance(now);
}

SupervisionActions Supervision::child_failed_to_start(std::size_t child, MonoTime now) {
  Child& c = children_.at(child);
  MUSTER_CHECK(alive(c));
  // A lease that ends too soon to start anything is no fault of the child.
  stop_if_due(now);
  enter(c, State::kAbsent, now);
  if (phase_ == Phase::kUp) begin_stop(EndCause::kStartFailed, child);
  return advance(now);
}

SupervisionActions Supervision::child_ready(std::size_t child, MonoTime now) {
  Child& c = children_.at(child);
  if (c.state == State::kStarting || c.state == State::kStarted) enter(c, State::kReady, now);
  return advance(now);
}

SupervisionActions Supervision::child_exited(std::size_t child, bool success, MonoTime now) {
  Child& c = children_.at(child);
  MUSTER_CHECK(alive(c));
  // A child that ends when the stop was due was ended by its guardian, and has not failed.
  stop_if_due(now);
  const bool stopped = phase_ != Phase::kUp || c.halting;
  if (c.state == State::kReady && now - c.since >= options_.stable_after) c.backoff = Duration{0};
  enter(c, State::kAbsent, now);
  c.halting = false;
  if (!stopped && c.rules.setup) {
    c.wanted = false;
    if (!success) begin_stop(EndCause::kStartFailed, child);
  } else if (!stopped) {
    const RestartPolicy policy = c.rules.restart;
    c.wanted =
        policy == RestartPolicy::kPermanent || (policy == RestartPolicy::kTransient && !success);
    if (c.wanted) {
      restart(child, now);
    } else if (!success && failed_ == SupervisionAction::kNoChild) {
      failed_ = child;
    }
  }
  return advance(now);
}

SupervisionActions Supervision::child_lost(std::size_t child, MonoTime now) {
  Child& c = children_.at(child);
  MUSTER_CHECK(alive(c));
  enter(c, State::kAbsent, now);
  if (phase_ == Phase::kUp) begin_stop(EndCause::kLost, child);
  return advance(now);
}

SupervisionActions Supervision::child_stuck(std::size_t child, MonoTime now) {
  Child& c = children_.at(child);
  MUSTER_CHECK(alive(c));
  if (!std::exchange(c.unkillable, true)) {
    // It has ended, so there is nothing more to send to it.
    enter(c, State::kKilled, now);
    actions_.push_back({Kind::kUnkillable, child});
    if (phase_ == Phase::kUp) begin_stop(EndCause::kLost, child);
  }
  return advance(now);
}

std::optional<MonoTime> Supervision::next_tick() const {
  if (phase_ == Phase::kNew || phase_ == Phase::kEnded) return std::nullopt;
  const bool up = phase_ == Phase::kUp;
  std::optional<MonoTime> next;
  if (up || !lease_short_) next = stop_at();
  for (const Child& c : children_) {
    take_earlier(next, next_of(c));
    const bool killable = alive(c) && c.state != State::kKilled;
    if (!up && killable) take_earlier(next, kill_all_at());
  }
  // A child that waits for another one is moved by that one's event, not by a timer.
  const bool halting =
      std::any_of(children_.begin(), children_.end(), [](const Child& c) { return c.halting; });
  const auto first = std::find_if(children_.begin(), children_.end(), [](const Child& c) {
    return c.wanted && c.state != State::kReady;
  });
  if (up && !halting && first != children_.end() && !alive(*first)) {
    take_earlier(next, first->restart_at);
  }
  return next;
}

/// When time alone changes the state of a child that lives.
std::optional<MonoTime> Supervision::next_of(const Child& c) const {
  const bool up = phase_ == Phase::kUp;
  if (up && c.state == State::kStarting) return c.since + options_.start_timeout;
  if (up && c.state == State::kStarted) {
    if (!c.rules.setup) return c.since + c.rules.ready_after.value_or(options_.start_timeout);
    if (c.rules.timeout) return c.since + *c.rules.timeout;
  }
  if (c.state == State::kTerminating) return c.kill_at;
  if (c.state == State::kKilled && !c.unkillable) return c.since + options_.kill_margin;
  return std::nullopt;
}

MonoTime Supervision::stop_at() const {
  return before(deadline_, options_.kill_margin + options_.stop_budget);
}

MonoTime Supervision::kill_all_at() const {
  return before(std::min(deadline_, stop_by_), options_.kill_margin);
}

/// All that the child wishes, as long as the lease is renewed and the caller does not want an
/// earlier end. Otherwise an equal share of the time there is, or more if the others wish less.
Duration Supervision::grace(const Child& child, MonoTime now) const {
  const auto wish = [](const Child& c) { return c.rules.shutdown.value_or(Duration{0}); };
  if (phase_ != Phase::kStopping) return wish(child);
  const MonoTime end = lease_short_ ? kill_all_at() : before(stop_by_, options_.kill_margin);
  const Duration left = end - now;
  Duration others{0};
  int count = 1;
  for (const Child& c : children_) {
    if (&c == &child || !alive(c) || c.state == State::kKilled) continue;
    others += wish(c);
    ++count;
  }
  return std::clamp(std::max(left / count, left - others), Duration{0}, wish(child));
}

void Supervision::enter(Child& child, State state, MonoTime now) {
  child.state = state;
  child.since = now;
}

/// Decides what a failure means for the failed child and its siblings.
void Supervision::restart(std::size_t failed, MonoTime now) {
  while (!restarts_.empty() && now - restarts_.front() > options_.restart_window) {
    restarts_.pop_front();
  }
  restarts_.push_back(now);
  if (restarts_.size() > options_.restarts_max) {
    begin_stop(EndCause::kRestartsExhausted, failed);
    return;
  }
  Child& c = children_[failed];
  c.backoff = std::min(options_.backoff_max, std::max(options_.backoff_min, c.backoff * 2));
  c.restart_at = now + c.backoff;
  if (options_.strategy == RestartStrategy::kOneForOne) return;
  const std::size_t first = options_.strategy == RestartStrategy::kOneForAll ? 0 : failed + 1;
  for (std::size_t i = first; i < children_.size(); ++i) {
    if (i == failed) continue;
    Child& sibling = children_[i];
    sibling.halting = alive(sibling);
    // A setup runs until it has ended once.
    if (sibling.rules.setup) continue;
    // One that had finished runs again with its group. A temporary one does not, nor one that is
    // stopped here; but one that has not had its turn yet still gets it.
    if (sibling.rules.restart != RestartPolicy::kTemporary) {
      sibling.wanted = true;
    } else if (alive(sibling)) {
      sibling.wanted = false;
    }
  }
}

void Supervision::begin_stop(EndCause cause, std::size_t child) {
  phase_ = Phase::kStopping;
  actions_.push_back({Kind::kEnding, child, cause});
}

void Supervision::stop_if_due(MonoTime now) {
  lease_short_ = now >= stop_at();
  if (phase_ != Phase::kUp || !lease_short_) return;
  begin_stop(EndCause::kDeadline, SupervisionAction::kNoChild);
}

SupervisionActions Supervision::advance(MonoTime now) {
  stop_if_due(now);
  if (phase_ == Phase::kUp) settle(now);
  halt(now);
  if (phase_ == Phase::kUp) start_next(now);
  report_unkillable(now);
  const bool any =
      std::any_of(children_.begin(), children_.end(), [this](const Child& c) { return alive(c); });
  if (phase_ == Phase::kStopping && !any) {
    phase_ = Phase::kEnded;
    actions_.push_back({Kind::kEnded});
  }
  return std::exchange(actions_, {});
}

/// Children become ready, or have taken too long to.
void Supervision::settle(MonoTime now) {
  for (std::size_t i = 0; i < children_.size() && phase_ == Phase::kUp; ++i) {
    Child& c = children_[i];
    if (c.state != State::kStarting && c.state != State::kStarted) continue;
    const auto due = next_of(c);
    if (!due || now < *due) continue;
    if (c.state == State::kStarted && c.rules.ready_after && !c.rules.setup) {
      enter(c, State::kReady, now);
    } else {
      begin_stop(EndCause::kStartFailed, i);
    }
  }
}

/// Stops what is to be stopped, the last child first and each only after the one before is gone.
void Supervision::halt(MonoTime now) {
  const bool stopping = phase_ == Phase::kStopping;
  const bool hurry = stopping && now >= kill_all_at();
  for (Child& c : children_) {
    // The time may have become short since it was asked.
    if (c.state == State::kTerminating) c.kill_at = std::min(c.kill_at, now + grace(c, now));
  }
  for (std::size_t i = children_.size(); i-- > 0;) {
    Child& c = children_[i];
    if (!alive(c) || !(stopping || c.halting)) continue;
    if (c.state == State::kKilled) {
      // The others do not wait for one that will not die.
      if (hurry || c.unkillable) continue;
      return;
    }
    if (hurry || !c.rules.shutdown || (c.state == State::kTerminating && now >= c.kill_at)) {
      kill(i, now);
    } else if (c.state != State::kTerminating) {
      c.kill_at = now + grace(c, now);
      enter(c, State::kTerminating, now);
      actions_.push_back({Kind::kTerminate, i});
    }
    if (!hurry) return;
  }
}

void Supervision::kill(std::size_t i, MonoTime now) {
  enter(children_[i], State::kKilled, now);
  actions_.push_back({Kind::kKill, i});
}

void Supervision::report_unkillable(MonoTime now) {
  std::size_t stuck = SupervisionAction::kNoChild;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    Child& c = children_[i];
    if (c.state != State::kKilled || c.unkillable) continue;
    if (now - c.since < options_.kill_margin) continue;
    c.unkillable = true;
    stuck = i;
    actions_.push_back({Kind::kUnkillable, i});
  }
  if (stuck == SupervisionAction::kNoChild) return;
  // A group that cannot be restarted is no work: let another node have it.
  if (phase_ == Phase::kUp) begin_stop(EndCause::kLost, stuck);
  halt(now);
}

/// Starts the first child that is to run and does not, if all before it are ready.
void Supervision::start_next(MonoTime now) {
  bool any = false;
  for (const Child& c : children_) {
    if (c.halting) return;
    any = any || c.wanted;
  }
  for (std::size_t i = 0; i < children_.size(); ++i) {
    Child& c = children_[i];
    if (!c.wanted || c.state == State::kReady) continue;
    if (c.state != State::kAbsent || now < c.restart_at) return;
    enter(c, State::kStarting, now);
    actions_.push_back({Kind::kStart, i});
    return;
  }
  if (!any) {
    begin_stop(EndCause::kFinished, failed_);
  } else if (!ready_) {
    ready_ = true;
    actions_.push_back({Kind::kReady});
  }
}

}  // namespace muster
