// What a NamespaceCoordinator does with what its election reports.

#include <string>
#include <utility>

#include "base/log.h"
#include "coordinator/namespace_coordinator.h"

namespace muster {

void NamespaceCoordinator::on(const ElectionEvent& event) {
  std::visit([this](const auto& e) { handle(e); }, event);
  publish();
}

void NamespaceCoordinator::handle(const BecameLeader& event) {
  if (campaign_began_) {
    const Duration took = loop_.now() - *std::exchange(campaign_began_, std::nullopt);
    election_durations_.observe(took);
    count([&](CoordinatorMetrics& m) { m.election_duration = took; });
  }
  log_info("became leader",
           {{"namespace", name_space_}, {"epoch", std::to_string(event.epoch.value())}});
  publish();
  // Plugins that were stopped for a hand-over stay so: what is released must not be used.
  if (!handed_over_) host_->begin_term(participant_.guard());
  host_->emit(TermBeganEvent{name_space_, event.epoch, event.deadline});
  // One that came with the answer to the acquisition, before this worker knew that it leads.
  participant_.look_for_commands();
}

void NamespaceCoordinator::handle(const LostLeadership& event) {
  host_->end_term({});
  // Whether it was released is known when the store has answered.
  if (event.reason == LossReason::kReleased) {
    releasing_ = event.epoch;
  } else {
    report_end(event.epoch, event.reason);
  }
}

void NamespaceCoordinator::report_end(Epoch epoch, LossReason reason) {
  // Handing over is what was asked for; anything else an operator may want to look at.
  const bool meant = reason == LossReason::kReleased;
  log({meant ? LogLevel::kInfo : LogLevel::kWarn,
       meant ? "handed leadership over" : "lost leadership",
       {{"namespace", name_space_},
        {"epoch", std::to_string(epoch.value())},
        {"reason", to_string(reason)}}});
  host_->emit(TermEndedEvent{name_space_, epoch, reason});
}

void NamespaceCoordinator::handle(const LeaderChanged& event) {
  host_->learn_epoch(event.epoch);
  const bool other = event.current && event.current != event.previous;
  if (other) count([](CoordinatorMetrics& m) { ++m.leader_changes; });
  if (event.current != options_.worker_id) campaign_began_.reset();
  const auto name = [](const std::optional<WorkerId>& id) { return id ? id->value() : "nobody"; };
  log_info("leader changed", {{"namespace", name_space_},
                              {"epoch", std::to_string(event.epoch.value())},
                              {"previous", name(event.previous)},
                              {"leader", name(event.current)}});
  host_->emit(LeaderChangedEvent{name_space_, event.previous, event.current, event.epoch});
}

void NamespaceCoordinator::handle(const ElectionStarted&) {
  campaign_began_ = loop_.now();
  count([](CoordinatorMetrics& m) { ++m.election_count; });
}

void NamespaceCoordinator::handle(const StateTrouble& event) {
  report(TroubleEvent::Kind::kStateDamaged, event.problem);
}

void NamespaceCoordinator::handle(const StoreTrouble& event) {
  if (event.error.code == Errc::kConflict) return;  // Losing a race is no trouble.
  participant_.note_failure(
      event.error, {{"namespace", name_space_}, {"epoch", std::to_string(epoch().value())}});
}

void NamespaceCoordinator::handle(const DuplicateWorker& event) {
  report(TroubleEvent::Kind::kDuplicateWorker,
         "another process takes part as " + options_.worker_id.value() + " (incarnation " +
             event.other.value() + "); give every worker its own --id");
}

void NamespaceCoordinator::handle(const Resigned& event) {
  if (releasing_) {
    report_end(*std::exchange(releasing_, std::nullopt),
               event.released ? LossReason::kReleased : LossReason::kLeftToExpire);
  }
  if (handed_over_) std::exchange(handed_over_, nullptr)();
}

void NamespaceCoordinator::report(TroubleEvent::Kind kind, const std::string& message) {
  log_error("trouble", {{"namespace", name_space_},
                        {"epoch", std::to_string(epoch().value())},
                        {"kind", to_string(kind)},
                        {"message", message}});
  host_->emit(TroubleEvent{name_space_, kind, message});
}

}  // namespace muster
