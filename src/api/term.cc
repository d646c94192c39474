#include "api/term.h"

#include <algorithm>

namespace muster::api {

Duration TermRecord::left() const {
  // The guard is asked first: when it has ended since, what follows says so, too.
  if (!guard_->valid()) return Duration(0);
  return std::max(Duration(0), guard_->deadline() - loop_.now());
}

bool TermRecord::hold() {
  const std::lock_guard lock(mutex_);
  if (ending_) return false;
  ++holders_;
  return true;
}

void TermRecord::let_go() {
  const std::lock_guard lock(mutex_);
  if (--holders_ == 0 && done_) loop_.post(std::exchange(done_, {}));
}

void TermRecord::end(std::function<void()> done) {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  done_ = std::move(done);
  if (holders_ == 0) loop_.post(std::exchange(done_, {}));
}

bool TermRecord::enter(TermGuest& guest) {
  if (stopped_) return false;
  guests_.push_back(&guest);
  return true;
}

void TermRecord::leave(TermGuest& guest) {
  std::erase(guests_, &guest);
}

void TermRecord::stop_guests(MonoTime by) {
  stopped_ = true;
  for (TermGuest* guest : std::vector(guests_)) guest->stop(by);
}

void TermRecord::deadline_moved() {
  for (TermGuest* guest : std::vector(guests_)) guest->deadline_moved();
}

}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

Term::Term() = default;
Term::Term(std::shared_ptr<muster::api::TermHold> hold) : hold_(std::move(hold)) {}

bool Term::valid() const {
  return hold_ && hold_->record().valid();
}

Token Term::token() const {
  return hold_ ? hold_->record().guard().epoch().value() : 0;
}

Duration Term::left() const {
  return hold_ ? hold_->record().left() : Duration(0);
}

std::stop_token Term::stopping() const {
  if (hold_) return hold_->record().stopping().get_token();
  std::stop_source over;
  over.request_stop();
  return over.get_token();
}

MUSTER_END_NAMESPACE
