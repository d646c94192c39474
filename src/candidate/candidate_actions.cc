// What a Candidate does with what its election reports and its machine decides.

#include <string>
#include <utility>

#include "candidate/candidate.h"

namespace muster {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace

void Candidate::on(const ElectionEvent& event) {
  const MonoTime now = loop_.now();
  std::visit(
      Overloaded{
          [&](const BecameLeader& e) { run(machine_.became_leader(e.epoch, e.deadline, now)); },
          [&](const LeaseRenewed& e) {
            if (work_started_) work_.deadline_moved(e.deadline);
            // No earlier than the work, which has judged the same deadline just now.
            run(machine_.renewed(e.deadline, loop_.now()));
          },
          [&](const LostLeadership& e) { run(machine_.lost(e.reason, now)); },
          [&](const LeaderChanged& e) {
            tell(telemetry::LeaderChanged{e.previous, e.current, e.epoch});
            look(true);
          },
          [&](const ElectionStarted&) { tell(telemetry::ElectionStarted{}); },
          [&](const StateTrouble& e) {
            tell(telemetry::Trouble{telemetry::Trouble::Kind::kStateDamaged, e.problem});
          },
          [&](const StoreTrouble& e) { note_failure(e.error); },
          [&](const DuplicateWorker& e) {
            tell(telemetry::Trouble{telemetry::Trouble::Kind::kDuplicateNode,
                                    "another process takes part as " + options_.node.value() +
                                        " (incarnation " + e.other.value() +
                                        "); give every node its own --id"});
          },
          [&](const Resigned&) { run(machine_.resigned(now)); },
      },
      event);
}

void Candidate::note_failure(const Error& error) {
  if (error.code == Errc::kConflict) return;  // Losing a race is no trouble.
  trouble_seen_ = true;
  store_trouble_ = error.message;
  const bool first = !std::exchange(store_failing_, true);
  participant_.note_failure(error, {{"namespace", name_}, {"node", options_.node.value()}},
                            /*told=*/first);
  if (first) tell(telemetry::Trouble{telemetry::Trouble::Kind::kStoreUnreachable, error.message});
}

void Candidate::run(CandidateActions actions) {
  for (candidate::Action& action : actions) pending_.push_back(std::move(action));
  if (std::exchange(running_, true)) return;
  while (!pending_.empty()) {
    const candidate::Action action = std::move(pending_.front());
    pending_.pop_front();
    act(action);
  }
  running_ = false;
  arm();
  publish();
}

void Candidate::act(const candidate::Action& action) {
  std::visit(
      Overloaded{
          [&](const candidate::SetGate& a) { participant_.set_eligible(a.open); },
          [&](const candidate::StartWork& a) { start_work(a.epoch); },
          [&](const candidate::StopWork& a) { stop_work(a.by); },
          [&](const candidate::EndDeadline&) {
            if (work_started_) work_.deadline_moved(loop_.now());
          },
          [&](const candidate::Resign& a) {
            participant_.resign({.stop = a.stop,
                                 .hold_off = Duration(0),
                                 .preferred = a.preferred,
                                 .without_receipt = !a.receipt});
          },
          [&](const candidate::StateChange& a) {
            const bool aside = a.to == CandidateState::kIneligible ||
                               a.to == CandidateState::kPaused || a.to == CandidateState::kBackoff;
            participant_.stand_aside(aside ? to_string(a.to) : "");
            tell(telemetry::StateChanged{a.from, a.to});
          },
          [&](const candidate::TermBegan& a) { tell(telemetry::BecameLeader{a.epoch}); },
          [&](const candidate::TermOver& a) {
            tell(telemetry::LostLeadership{a.epoch, a.reason, a.detail});
          },
          [&](const candidate::Flapping& a) {
            tell(telemetry::Flapping{a.short_terms, a.backoff});
          },
          [&](const candidate::WorkStuck& a) {
            const std::string work = "the work of epoch " + std::to_string(a.epoch.value());
            tell(telemetry::Trouble{
                telemetry::Trouble::Kind::kWorkStuck,
                a.running ? work + " did not end in time; the lease expires instead of being "
                                   "released, and this node does not lead before the work has "
                                   "ended"
                          : "nothing proves that all of " + work +
                                " has ended; the lease expires instead of being released, and "
                                "this node does not lead again until it is restarted"});
          },
          [&](const candidate::Stopped&) {
            check_timer_.cancel();
            participant_.leave([this] {
              gone_ = true;
              for (auto& done : std::exchange(stopped_, {})) done();
            });
          },
      },
      action);
}

void Candidate::start_work(Epoch epoch) {
  // Lost in the meantime: the order to stop is on its way.
  if (!participant_.guard()) return;
  term_.renew();
  work_started_ = true;
  work_.start(epoch, participant_.guard(),
              term_.wrap([this] { run(machine_.work_ready(loop_.now())); }),
              term_.wrap([this](std::string why) {
                run(machine_.work_failed(std::move(why), loop_.now()));
              }));
}

void Candidate::stop_work(MonoTime by) {
  if (const auto& guard = participant_.guard()) guard->request_stop();
  if (!work_started_) return run(machine_.work_stopped(true, loop_.now()));
  work_.stop(by, term_.wrap([this](bool receipt) {
    work_started_ = false;
    run(machine_.work_stopped(receipt, loop_.now()));
  }));
}

void Candidate::tell(telemetry::What what) {
  const telemetry::Event event{loop_.wall_now(), options_.node, std::move(what)};
  {
    MutexLock lock(mutex_);
    shared_.metrics.count(event);
  }
  if (!listener_) return telemetry::write_log(event, name_);
  listener_(event);
}

}  // namespace muster
