#include "core/candidate/leader_monitor.h"

#include <utility>

namespace muster {

const char* to_string(DownCause cause) {
  switch (cause) {
    case DownCause::kReleased:
      return "released";
    case DownCause::kExpired:
      return "expired";
    case DownCause::kReplaced:
      return "replaced";
    case DownCause::kUnreachable:
      return "unreachable";
  }
  return "unknown";
}

const char* to_string(LeaderView view) {
  switch (view) {
    case LeaderView::kUnknown:
      return "unknown";
    case LeaderView::kLed:
      return "led";
    case LeaderView::kFree:
      return "free";
    case LeaderView::kLapsed:
      return "lapsed";
    case LeaderView::kUnreachable:
      return "unreachable";
  }
  return "unknown";
}

void LeaderMonitor::go_down(DownCause cause, std::vector<MonitorEvent>& events) {
  if (!leader_) return;
  events.emplace_back(LeaderWentDown{*std::exchange(leader_, std::nullopt), cause});
}

std::vector<MonitorEvent> LeaderMonitor::observed(const std::optional<LeaderState>& state,
                                                  bool lost, MonoTime until, MonoTime now) {
  std::vector<MonitorEvent> events;
  answered_ = true;
  const bool held = state && state->leader;
  const bool own = held && state->incarnation == self_;
  if (held && !own && now < until) {
    const LeaderRef seen{*state->leader, state->incarnation, state->epoch};
    until_ = until;
    view_ = LeaderView::kLed;
    // Not by the nonce alone: a worker that knows none renews all the same.
    const bool rewritten = std::exchange(written_, *state) != *state;
    if (leader_ == seen) {
      if (rewritten && !std::exchange(alive_, true)) events.emplace_back(LeaderAlive{seen});
      return events;
    }
    go_down(DownCause::kReplaced, events);
    leader_ = seen;
    alive_ = false;
    events.emplace_back(LeaderUp{seen});
    return events;
  }
  const auto& receipt = state ? state->released : std::nullopt;
  const bool same = leader_ && held && state->epoch == leader_->epoch &&
                    state->incarnation == leader_->incarnation;
  if (leader_ && receipt && !held) {
    const bool its =
        receipt->incarnation == leader_->incarnation && receipt->epoch == leader_->epoch;
    go_down(its ? DownCause::kReleased : DownCause::kReplaced, events);
  } else {
    go_down(held && !same ? DownCause::kReplaced : DownCause::kExpired, events);
  }
  const bool never_led = !state && !lost;
  view_ = never_led || (!held && receipt) ? LeaderView::kFree : LeaderView::kLapsed;
  return events;
}

std::vector<MonitorEvent> LeaderMonitor::unanswered(MonoTime now) {
  answered_ = false;
  return tick(now);
}

std::vector<MonitorEvent> LeaderMonitor::tick(MonoTime now) {
  std::vector<MonitorEvent> events;
  if (!leader_ || now < until_) return events;
  go_down(answered_ ? DownCause::kExpired : DownCause::kUnreachable, events);
  view_ = answered_ ? LeaderView::kLapsed : LeaderView::kUnreachable;
  return events;
}

}  // namespace muster
