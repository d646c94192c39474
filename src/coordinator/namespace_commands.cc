// What a NamespaceCoordinator is asked to do: by its program, and by operators through
// `control.json`.

#include <string>
#include <utility>

#include "base/log.h"
#include "coordinator/namespace_coordinator.h"

namespace muster {

void NamespaceCoordinator::step_down(std::optional<WorkerId> preferred, Duration hold_off,
                                     std::function<void()> done) {
  if (stopping_ || handed_over_ || !participant_.leads_now()) return done();
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
  participant_.set_eligible(eligible_ && !paused_);
  show_standing();
}

void NamespaceCoordinator::pause() {
  paused_ = true;
  participant_.set_eligible(false);
  show_standing();
  step_down({}, Duration(0), [] {});
}

void NamespaceCoordinator::resume() {
  paused_ = false;
  participant_.set_eligible(eligible_);
  show_standing();
}

// The worker's file tells others whether it would lead, in the words of a candidate's.
void NamespaceCoordinator::show_standing() {
  participant_.stand_aside(!eligible_                ? "ineligible"
                           : paused_                 ? "paused"
                           : hold_off_timer_.armed() ? "backoff"
                                                     : "");
}

// A command is for one term; only a paused worker may be told to resume.
bool NamespaceCoordinator::is_for_me(const ControlCommand& command) const {
  if (stopping_) return false;
  if (command.kind == ControlKind::kResume) {
    return paused_ && (!command.worker || command.worker == options_.worker_id);
  }
  return !handed_over_ && participant_.leads_now() &&
         participant_.election().term_epoch() == command.epoch;
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
      return step_down(
          command.worker,
          hold_off_after_step_down(options_.lease_timeout,
                                   options_.heartbeat_interval + options_.heartbeat_jitter),
          [] {});
    case ControlKind::kPause:
      return pause();
    case ControlKind::kResume:
      return resume();
  }
}

}  // namespace muster
