#include "core/lock/lock_machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster {

LockMachine::LockMachine(Config config) : config_(config), permits_(config.shape.permits + 1) {
  MUSTER_CHECK(config_.first >= 1 && config_.first <= config_.shape.permits);
  MUSTER_CHECK(!config_.writes || config_.shape.kind == LockKind::kReadWrite);
}

LockMachine::Actions LockMachine::finish() {
  return std::exchange(actions_, {});
}

LockMachine::Actions LockMachine::start(MonoTime now) {
  MUSTER_CHECK(phase_ == Phase::kNew);
  phase_ = Phase::kTaking;
  decide(now);
  return finish();
}

MonoTime LockMachine::wake_at() const {
  if (phase_ != Phase::kTaking) return MonoTime::max();
  const bool waits = reads() && writer_until_ != MonoTime::min();
  return waits ? std::min(config_.give_up_at, writer_until_) : config_.give_up_at;
}

LockMachine::Actions LockMachine::wake(MonoTime now) {
  decide(now);
  return finish();
}

std::uint32_t LockMachine::at(std::uint32_t position) const {
  return (config_.first - 1 + position) % config_.shape.permits + 1;
}

bool LockMachine::held(const Permit& permit, MonoTime now) const {
  return permit.state == State::kWon && now < permit.deadline;
}

void LockMachine::observe(std::uint32_t number) {
  Permit& permit = permits_[number];
  if (permit.state != State::kUnused && permit.state != State::kCompeting) return;
  permit.state = State::kObserved;
  permit.competes = permit.missed = false;
  actions_.emplace_back(Observe{number});
}

void LockMachine::compete(std::uint32_t number) {
  Permit& permit = permits_[number];
  if (permit.state != State::kUnused && permit.state != State::kObserved) return;
  permit.state = State::kCompeting;
  permit.competes = true;
  permit.missed = false;
  actions_.emplace_back(Compete{number});
}

void LockMachine::give_back(std::uint32_t number) {
  Permit& permit = permits_[number];
  if (permit.state == State::kUnused || permit.state == State::kGivingBack) return;
  permit.state = State::kGivingBack;
  actions_.emplace_back(GiveBack{number});
}

void LockMachine::decide(MonoTime now) {
  if (phase_ != Phase::kTaking) return;
  if (config_.resumes) {
    decide_to_resume(now);
  } else if (config_.writes) {
    decide_for_all(now);
  } else {
    decide_for_one(now);
  }
  if (phase_ == Phase::kTaking && now >= config_.give_up_at) give_up();
}

// A writer that waits now came later: nothing is looked at first.
void LockMachine::decide_to_resume(MonoTime now) {
  bool all = true;
  for (std::uint32_t number = 0; number < permits_.size(); ++number) {
    if (!config_.writes && number != config_.first) continue;
    compete(number);
    all = all && held(permits_[number], now);
  }
  if (all) take(config_.writes, config_.writes ? kWriters : config_.first);
}

void LockMachine::decide_for_one(MonoTime now) {
  for (std::uint32_t number = 1; number < permits_.size(); ++number) {
    if (held(permits_[number], now)) return take(/*all=*/false, number);
  }
  if (reads()) {
    observe(kWriters);
    if (!writers_looked_at_) return;
    if (now < writer_until_) {
      // A writer waits for the readers that are there, and for none that comes later. What a dead
      // one holds is observed from now on, so that all of its leases end together.
      opened_ = 1;
      for (std::uint32_t number = 1; number < permits_.size(); ++number) observe(number);
      if (config_.once) give_up();
      return;
    }
    writer_until_ = MonoTime::min();
  }
  bool all_missed = true;
  for (std::uint32_t position = 0; position < opened_; ++position) {
    compete(at(position));
    all_missed = all_missed && permits_[at(position)].missed;
  }
  if (!all_missed) return;
  if (opened_ < config_.shape.permits) {
    compete(at(opened_++));
  } else if (config_.once) {
    give_up();
  }
}

void LockMachine::decide_for_all(MonoTime now) {
  compete(kWriters);
  const bool may_take_others = held(permits_[kWriters], now);
  const bool contended = permits_[kWriters].missed;
  bool all = may_take_others;
  bool missed = contended;
  for (std::uint32_t number = 1; number < permits_.size(); ++number) {
    if (may_take_others) {
      compete(number);
    } else if (permits_[number].state == State::kWon) {
      // Another writer may hold the writers' permit by now: each would wait for the other.
      give_back(number);
    } else if (contended || permits_[number].state == State::kCompeting) {
      // The leases of dead holders are observed from now on, so that all of them end together.
      observe(number);
    }
    all = all && held(permits_[number], now);
    missed = missed || permits_[number].missed;
  }
  if (all) return take(/*all=*/true, kWriters);
  if (missed && config_.once) give_up();
}

void LockMachine::take(bool all, std::uint32_t number) {
  phase_ = Phase::kHeld;
  for (std::uint32_t each = 0; each < permits_.size(); ++each) {
    permits_[each].needed = all || each == number;
    if (!permits_[each].needed) give_back(each);
  }
  actions_.emplace_back(Held{permits_[number].epoch, held_until()});
}

MonoTime LockMachine::held_until() const {
  MonoTime until = MonoTime::max();
  for (const Permit& permit : permits_) {
    if (permit.needed) until = std::min(until, permit.deadline);
  }
  return until;
}

LockMachine::Actions LockMachine::won(std::uint32_t number, Epoch epoch, MonoTime deadline,
                                      MonoTime now) {
  Permit& permit = permits_[number];
  if (permit.state == State::kGivingBack || permit.state == State::kUnused) return finish();
  permit.state = State::kWon;
  permit.epoch = epoch;
  permit.deadline = deadline;
  decide(now);
  return finish();
}

LockMachine::Actions LockMachine::renewed(std::uint32_t number, MonoTime deadline, MonoTime now) {
  Permit& permit = permits_[number];
  permit.deadline = deadline;
  if (phase_ == Phase::kHeld && permit.needed) actions_.emplace_back(Extended{held_until()});
  decide(now);
  return finish();
}

LockMachine::Actions LockMachine::lost(std::uint32_t number, LossReason reason, MonoTime now) {
  Permit& permit = permits_[number];
  if (phase_ == Phase::kTaking && config_.resumes) give_up();
  if (permit.state != State::kWon) return finish();
  permit.state = permit.competes ? State::kCompeting : State::kObserved;
  permit.missed = permit.competes;
  if (phase_ == Phase::kHeld && permit.needed) {
    // What remains is worth nothing without it.
    actions_.emplace_back(Lost{reason});
    wind_up();
  }
  decide(now);
  return finish();
}

LockMachine::Actions LockMachine::looked(std::uint32_t number, MonoTime held_until, MonoTime now) {
  Permit& permit = permits_[number];
  if (number == kWriters && reads()) {
    writers_looked_at_ = true;
    writer_until_ = held_until;
  }
  if (permit.state == State::kCompeting) permit.missed = true;
  decide(now);
  return finish();
}

LockMachine::Actions LockMachine::given_back(std::uint32_t number, bool released, MonoTime now) {
  Permit& permit = permits_[number];
  if (permit.state != State::kGivingBack) return finish();
  if (permit.needed && !released) released_ = false;
  permit = Permit{};
  end_if_done();
  decide(now);
  return finish();
}

std::vector<HeldPermit> LockMachine::holds_by() const {
  std::vector<HeldPermit> all;
  for (std::uint32_t number = 0; number < permits_.size(); ++number) {
    if (permits_[number].needed) all.push_back({number, permits_[number].epoch});
  }
  return all;
}

LockMachine::Actions LockMachine::end(MonoTime) {
  if (phase_ != Phase::kEnding && phase_ != Phase::kEnded) wind_up();
  return finish();
}

void LockMachine::give_up() {
  actions_.emplace_back(GaveUp{});
  wind_up();
}

void LockMachine::wind_up() {
  phase_ = Phase::kEnding;
  for (std::uint32_t number = 0; number < permits_.size(); ++number) give_back(number);
  end_if_done();
}

void LockMachine::end_if_done() {
  if (phase_ != Phase::kEnding) return;
  const bool busy = std::any_of(permits_.begin(), permits_.end(), [](const Permit& permit) {
    return permit.state == State::kGivingBack;
  });
  if (busy) return;
  phase_ = Phase::kEnded;
  actions_.emplace_back(Finished{released_});
}

}  // namespace muster
