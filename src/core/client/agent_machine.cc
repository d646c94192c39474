#include "core/client/agent_machine.h"

#include <algorithm>
#include <utility>

#include "core/client/retry_plan.h"

namespace muster::client {
namespace {

constexpr std::size_t kBeatsPerMessage = 10'000;  // The wire contract's limit.

}  // namespace

Status AgentConfig::validate() const {
  if (heartbeat_interval <= 0ms || answer_timeout <= 0ms) {
    return {Errc::kInvalid, "heartbeat_interval and answer_timeout must be above zero"};
  }
  if (!(jitter >= 0 && jitter < 1)) return {Errc::kInvalid, "jitter must be from 0 to below 1"};
  if (first_delay <= 0ms || delay_max < first_delay) {
    return {Errc::kInvalid, "first_delay must be above zero and at most delay_max"};
  }
  if (registrations_max == 0) return {Errc::kInvalid, "registrations_max must be at least 1"};
  return Done{};
}

const char* to_string(AgentEventKind kind) {
  switch (kind) {
    case AgentEventKind::kRegistered:
      return "registered";
    case AgentEventKind::kLost:
      return "lost";
    case AgentEventKind::kReplaced:
      return "replaced";
    case AgentEventKind::kRefused:
      return "refused";
    case AgentEventKind::kDeregistered:
      return "deregistered";
    case AgentEventKind::kUnreachable:
      return "unreachable";
    case AgentEventKind::kReachable:
      return "reachable";
  }
  return "unknown";
}

bool AgentMachine::add(NodeSpec spec, MonoTime now) {
  if (spec.generation.value().empty()) spec.generation = Generation(random_.uuid());
  const NodeId id = spec.id;
  Entry entry;
  entry.spec = std::move(spec);
  if (!nodes_.emplace(id, std::move(entry)).second) return false;
  to_register_.emplace(now, id);
  return true;
}

bool AgentMachine::set_draining(const NodeId& id, bool draining, MonoTime now) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return false;
  found->second.draining = draining;
  if (found->second.phase == Phase::kIn) beat_soon(found->second, now);
  return true;
}

bool AgentMachine::remove(const NodeId& id, MonoTime now) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return false;
  leave(found->second, now);
  return true;
}

void AgentMachine::remove_all(MonoTime now) {
  for (auto& [id, entry] : nodes_) leave(entry, now);
}

void AgentMachine::leave(Entry& entry, MonoTime now) {
  entry.leaves = true;
  // While a registration is under way its outcome is waited for; see registered().
  if (entry.phase != Phase::kOut && entry.phase != Phase::kIn) return;
  if (entry.phase == Phase::kOut) {
    std::erase_if(to_register_, [&](const auto& each) { return each.second == entry.spec.id; });
  }
  // A node that is out may be in by a registration whose answer was lost.
  entry.phase = Phase::kLeaving;
  entry.failures = 0;
  to_deregister_.emplace(now, entry.spec.id);
}

void AgentMachine::beat_soon(Entry& entry, MonoTime now) {
  if (!round_at_) round_at_ = now;
  if (!std::exchange(entry.beats, true)) to_beat_.push_back(entry.spec.id);
}

Duration AgentMachine::backoff(int failures) {
  Duration delay = config_.first_delay;
  for (int i = 1; i < failures && delay < config_.delay_max; ++i) delay *= 2;
  return jittered(std::min(delay, config_.delay_max), 0.25, random_);
}

AgentMachine::Work AgentMachine::take_work(MonoTime now) {
  Work work;
  while (!to_register_.empty() && to_register_.begin()->first <= now &&
         registering_ < config_.registrations_max) {
    Entry& entry = nodes_.at(to_register_.begin()->second);
    to_register_.erase(to_register_.begin());
    entry.phase = Phase::kRegistering;
    ++registering_;
    work.registrations.push_back(entry.spec);
  }
  while (!to_deregister_.empty() && to_deregister_.begin()->first <= now) {
    Entry& entry = nodes_.at(to_deregister_.begin()->second);
    to_deregister_.erase(to_deregister_.begin());
    entry.phase = Phase::kDeregistering;
    work.deregistrations.push_back({entry.spec.id, entry.spec.generation});
  }
  work.beats = take_beats(now);
  return work;
}

std::vector<AgentBeat> AgentMachine::take_beats(MonoTime now) {
  if (round_at_ && *round_at_ <= now) {
    for (auto& [id, entry] : nodes_) {
      if (entry.phase == Phase::kIn) beat_soon(entry, now);
    }
    round_at_ = now + scale(config_.heartbeat_interval, 1 - config_.jitter * random_.unit());
  }
  if (beats_under_way() || now < beat_at_) return {};
  while (!to_beat_.empty() && under_way_.size() < kBeatsPerMessage) {
    const auto found = nodes_.find(to_beat_.front());
    to_beat_.pop_front();
    if (found == nodes_.end()) continue;
    Entry& entry = found->second;
    entry.beats = false;
    if (entry.phase != Phase::kIn) continue;
    under_way_.push_back({found->first, entry.spec.generation,
                          entry.draining ? NodeState::kDraining : NodeState::kActive});
  }
  return under_way_;
}

std::optional<MonoTime> AgentMachine::work_at() const {
  std::optional<MonoTime> when;
  const auto consider = [&](MonoTime time) { when = when ? std::min(*when, time) : time; };
  if (!to_register_.empty() && registering_ < config_.registrations_max) {
    consider(to_register_.begin()->first);
  }
  if (!to_deregister_.empty()) consider(to_deregister_.begin()->first);
  if (round_at_ && !nodes_.empty()) consider(*round_at_);
  if (!to_beat_.empty() && !beats_under_way()) consider(beat_at_);
  return when;
}

void AgentMachine::registered(const NodeId& id, const Generation& generation, const Status& outcome,
                              MonoTime now, Events& events) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || found->second.phase != Phase::kRegistering) return;
  Entry& entry = found->second;
  --registering_;
  if (entry.leaves) {
    entry.phase = Phase::kIn;
    return leave(entry, now);
  }
  if (outcome) {
    entry.phase = Phase::kIn;
    entry.failures = 0;
    events.push_back({AgentEventKind::kRegistered, id, generation, {}});
    return beat_soon(entry, now);
  }
  const Error& error = outcome.error();
  if (error.code == Errc::kInvalid) {
    return end(id, AgentEventKind::kRefused, error.message, events);
  }
  if (error.code != Errc::kUnavailable && error.code != Errc::kAmbiguous &&
      error.code != Errc::kThrottled) {
    events.push_back({AgentEventKind::kRefused, id, generation, error.message});
  }
  // Perhaps it was this generation that was refused, as one that has ended.
  if (error.code == Errc::kConflict) entry.spec.generation = Generation(random_.uuid());
  entry.phase = Phase::kOut;
  to_register_.emplace(now + std::max(error.retry_after, backoff(++entry.failures)), id);
}

void AgentMachine::displaced(const NodeId& id, const std::string& reason, Events& events) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || found->second.phase != Phase::kRegistering) return;
  --registering_;
  const bool left = found->second.leaves;
  end(id, left ? AgentEventKind::kDeregistered : AgentEventKind::kReplaced, reason, events);
}

void AgentMachine::deregistered(const NodeId& id, const Status& outcome, MonoTime now,
                                Events& events) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || found->second.phase != Phase::kDeregistering) return;
  Entry& entry = found->second;
  // Not registered, or another process is: this generation is out either way.
  if (outcome || outcome.is(Errc::kNotFound) || outcome.is(Errc::kConflict) ||
      outcome.is(Errc::kInvalid)) {
    return end(id, AgentEventKind::kDeregistered, {}, events);
  }
  entry.phase = Phase::kLeaving;
  to_deregister_.emplace(now + std::max(outcome.error().retry_after, backoff(++entry.failures)),
                         id);
}

void AgentMachine::end(const NodeId& id, AgentEventKind kind, const std::string& reason,
                       Events& events) {
  const auto found = nodes_.find(id);
  events.push_back({kind, id, found->second.spec.generation, reason, true});
  nodes_.erase(found);
}

void AgentMachine::lose(Entry& entry, const std::string& reason, MonoTime now, Events& events) {
  events.push_back({AgentEventKind::kLost, entry.spec.id, entry.spec.generation, reason});
  entry.spec.generation = Generation(random_.uuid());
  entry.phase = Phase::kOut;
  entry.failures = 0;
  to_register_.emplace(now, entry.spec.id);
}

void AgentMachine::refuse_beat(const AgentBeat& beat, const RpcStatus& status, MonoTime now,
                               Events& events) {
  const auto found = nodes_.find(beat.node);
  // The answer to an earlier life of the node says nothing about this one.
  if (found == nodes_.end() || found->second.phase != Phase::kIn ||
      found->second.spec.generation != beat.generation) {
    return;
  }
  if (status.replaced) {
    return end(beat.node, AgentEventKind::kReplaced, status.message, events);
  }
  if (status.code == RpcCode::kNotFound || status.code == RpcCode::kFailedPrecondition) {
    return lose(found->second, status.message, now, events);
  }
  // Not noted for a reason that passes: it is sent again before the next round.
  beat_soon(found->second, now);
  beat_at_ = std::max(beat_at_, now + backoff(1));
}

void AgentMachine::beats_answered(const std::vector<BeatRefusal>& refusals, MonoTime now,
                                  Events& events) {
  const std::vector<AgentBeat> sent = std::exchange(under_way_, {});
  if (beat_failures_ > 0) events.push_back({AgentEventKind::kReachable, {}, {}, {}});
  beat_failures_ = 0;
  for (const BeatRefusal& refusal : refusals) {
    if (refusal.position < sent.size()) {
      refuse_beat(sent[refusal.position], refusal.status, now, events);
    }
  }
}

void AgentMachine::beats_lost(const std::string& reason, MonoTime now, Events& events) {
  if (!beats_under_way()) return;
  for (const AgentBeat& beat : std::exchange(under_way_, {})) {
    const auto found = nodes_.find(beat.node);
    if (found != nodes_.end()) beat_soon(found->second, now);
  }
  if (beat_failures_ == 0) events.push_back({AgentEventKind::kUnreachable, {}, {}, reason});
  beat_at_ = now + backoff(++beat_failures_);
}

std::optional<Generation> AgentMachine::generation(const NodeId& id) const {
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || found->second.phase != Phase::kIn) return {};
  return found->second.spec.generation;
}

}  // namespace muster::client
