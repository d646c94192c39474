// What a NamespaceCoordinator is asked to do: by its program, and by operators through
// `control.json`.

#include <string>
#include <utility>

#include "base/log.h"
#include "coordinator/namespace_coordinator.h"

namespace muster {

void NamespaceCoordinator::step_down(std::optional<WorkerId> preferred, Duration hold_off,
                                     std::function<void()> done) {
  if (stopping_ || handed_over_ || !driver_.election().leads(loop_.now())) return done();
  hand_over({.hold_off = hold_off, .preferred = std::move(preferred)},
            [this, done = std::move(done)] {
              stop_timer_.cancel();
              done();
            });
  if (hold_off > Duration(0)) {
    hold_off_timer_.arm(hold_off, [this] { show_standing(); });
    show_standing();
  }
}

void NamespaceCoordinator::set_eligible(bool eligible) {
  eligible_ = eligible;
  driver_.set_eligible(eligible_ && !paused_);
  show_standing();
}

void NamespaceCoordinator::pause() {
  paused_ = true;
  driver_.set_eligible(false);
  show_standing();
  step_down({}, Duration(0), [] {});
}

void NamespaceCoordinator::resume() {
  paused_ = false;
  driver_.set_eligible(eligible_);
  show_standing();
}

// The worker's file tells others whether it would lead, in the words of a candidate's.
void NamespaceCoordinator::show_standing() {
  registration_.stand_aside(!eligible_                ? "ineligible"
                            : paused_                 ? "paused"
                            : hold_off_timer_.armed() ? "backoff"
                                                      : "");
}

// Only who may be meant looks: a command is judged when it is first seen, and one for a term that
// this worker is about to begin must not be refused before it has.
void NamespaceCoordinator::look_for_commands() {
  if (driver_.election().leads(loop_.now()) || control_.owes() || paused_) control_.look();
}

// A command is for one term; only a paused worker may be told to resume.
bool NamespaceCoordinator::is_for_me(const ControlCommand& command) const {
  if (stopping_) return false;
  if (command.kind == ControlKind::kResume) {
    return paused_ && (!command.worker || command.worker == options_.worker_id);
  }
  const Election& election = driver_.election();
  return !handed_over_ && election.leads(loop_.now()) && election.term_epoch() == command.epoch;
}

void NamespaceCoordinator::obey(const ControlCommand& command) {
  const std::string kind = to_string(command.kind);
  log_info("obeys a command", {{"namespace", name_space_},
                               {"epoch", std::to_string(command.epoch.value())},
                               {"command", kind},
                               {"id", command.id}});
  host_->emit(CommandEvent{name_space_, command.id, kind});
  switch (command.kind) {
    case ControlKind::kStepDown:
    case ControlKind::kTransfer:
      // For as long as others may need to take over.
      return step_down(command.worker, options_.lease_timeout, [] {});
    case ControlKind::kPause:
      return pause();
    case ControlKind::kResume:
      return resume();
  }
}

}  // namespace muster
