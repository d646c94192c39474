#include "core/cluster/decision.h"

#include <array>
#include <cstdio>
#include <utility>

#include "core/election/records.h"

namespace muster::cluster {
namespace {

using membership::Cause;
using membership::NodeState;

template <std::size_t N, typename Enum>
const char* name_of(const std::array<const char*, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : names[0];
}

/// To the tenth of a second: nobody decides anything by the milliseconds of a silence.
std::string seconds(Duration d) {
  const std::int64_t tenths = to_ms(d) / 100;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + "s";
}

/// The time of day; how long ago that was is told beside it.
std::string clock(WallTime at) {
  const std::chrono::hh_mm_ss time(
      std::chrono::floor<std::chrono::seconds>(at - std::chrono::floor<std::chrono::days>(at)));
  char text[64];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d UTC", int(time.hours().count()),
                int(time.minutes().count()), int(time.seconds().count()));
  return text;
}

std::string silence(const Cause& cause, Duration limit) {
  std::string text = "no heartbeat for " + seconds(cause.silence) + " (limit " + seconds(limit);
  if (cause.timeouts.damped) {
    text += ", doubled because it was suspected " +
            std::to_string(cause.timeouts.recent_suspicions) + " times recently";
  }
  return text + ")";
}

std::string because(const Decision& d) {
  const Cause cause = d.cause.value_or(Cause{});
  switch (d.why) {
    case Why::kHeartbeat:
      return d.from == "SUSPECT" ? "it was heard again" : "its first heartbeat came";
    case Why::kReported:
      return "the node said so itself";
    case Why::kSilence:
      if (d.to == "SUSPECT") return silence(cause, cause.timeouts.suspect_after);
      return silence(cause, cause.timeouts.down_after) + "; the leader had listened for " +
             seconds(cause.listened) + " (grace " + seconds(cause.grace) + "), " +
             std::to_string(cause.down_in_use) + " of " + std::to_string(cause.down_allowed) +
             " allowed by the brake were down";
    case Why::kJoiningTimeout:
      return "it did not become ACTIVE within " + seconds(cause.silence);
    case Why::kAsked:
      return "by request";
    default:
      return to_string(d.why);
  }
}

std::string asked(const Decision& d) {
  return d.asked_by.empty() ? "" : ", asked by " + d.asked_by;
}

std::string transition(const Decision& d) {
  switch (d.why) {
    case Why::kRegistered:
      return d.subject + " registered and is JOINING" + asked(d);
    case Why::kReplaced:
      return d.subject + " was " + d.from + "; a new process took its place and is JOINING" +
             asked(d);
    case Why::kDeregistered:
      return d.subject + " was " + d.from + " and was removed" + asked(d);
    case Why::kJoiningTimeout:
      return d.subject + " was removed: " + because(d);
    default:
      if (d.from == d.to) return d.subject + " stays " + d.to + ": " + because(d) + asked(d);
      return d.subject + " went from " + d.from + " to " + d.to + ": " + because(d) + asked(d);
  }
}

std::string leader(const Decision& d) {
  const bool servers = d.subject == kServersSubject;
  const std::string where = servers ? "the servers" : d.subject;
  const std::string epoch = ", epoch " + std::to_string(d.epoch);
  switch (d.why) {
    case Why::kFirst:
      return d.to + " leads " + where + epoch + ": there was no leader before";
    case Why::kResigned:
      if (d.to.empty()) return d.from + " gave the leadership of " + where + " back" + epoch;
      return d.to + " leads " + where + epoch + ": " + d.from + " handed over";
    default:
      if (d.from == d.to) return d.to + " leads " + where + " anew" + epoch;
      return d.to + " leads " + where + epoch + ": " +
             (d.from.empty() ? "there was no leader" : d.from + " was no longer heard");
  }
}

std::string server(const Decision& d) {
  const std::string name = "server " + d.subject;
  switch (d.why) {
    case Why::kSilence:
      return name + " is unreachable";
    case Why::kHeartbeat:
      return name + " is reachable again";
    case Why::kForgotten:
      return name + " was removed" + asked(d);
    default:
      return name + " announced itself" + asked(d);
  }
}

std::string plain(const Decision& d) {
  switch (d.kind) {
    case DecisionKind::kTransition:
      return transition(d);
    case DecisionKind::kLeader:
      return leader(d);
    case DecisionKind::kDisplaced:
      return d.to + " took the leadership of " + d.subject + " while the lease of " + d.from +
             " stood, epoch " + std::to_string(d.epoch);
    case DecisionKind::kBreaker:
      return d.to + " of " + d.subject + " reaches the store again";
    case DecisionKind::kBrake:
      return d.why == Why::kEnded
                 ? std::string("the brake no longer holds nodes back")
                 : std::string("too many nodes went DOWN at once; the brake holds the others back");
    case DecisionKind::kEngine:
      return "the engine is reachable again";
    case DecisionKind::kServer:
      return server(d);
    case DecisionKind::kDrain:
      return d.subject + ", which is not registered, is no longer to be drained" + asked(d);
    case DecisionKind::kRing:
      return "the hash ring was changed" + asked(d);
    default:
      return d.subject + ": " + to_string(d.why);
  }
}

Why why_of(const membership::Event& event, const membership::Command& command) {
  using namespace membership;
  if (event.kind == EventKind::kNodeAdded) return Why::kRegistered;
  if (event.kind == EventKind::kRingConfigChanged) return Why::kAsked;
  if (membership::registered_by(command) != nullptr) return Why::kReplaced;
  if (std::holds_alternative<DeregisterNode>(command)) return Why::kDeregistered;
  if (std::holds_alternative<RemoveJoining>(command)) return Why::kJoiningTimeout;
  if (std::holds_alternative<Drain>(command) || std::holds_alternative<SetDrain>(command)) {
    return Why::kAsked;
  }
  if (!std::holds_alternative<BatchHeartbeat>(command)) return Why::kSilence;
  if (event.node.state != NodeState::kDraining && event.from != NodeState::kDraining) {
    return Why::kHeartbeat;
  }
  return event.node.drain_requested ? Why::kAsked : Why::kReported;
}

}  // namespace

const char* to_string(DecisionKind kind) {
  static constexpr std::array kNames{"unknown", "transition", "leader", "displaced", "breaker",
                                     "brake",   "engine",     "server", "ring",      "drain"};
  return name_of(kNames, kind);
}

const char* to_string(Why why) {
  static constexpr std::array kNames{"unknown",      "registered", "replaced",        "heartbeat",
                                     "reported",     "silence",    "joining-timeout", "asked",
                                     "deregistered", "first",      "resigned",        "lease-ended",
                                     "began",        "ended",      "announced",       "forgotten"};
  return name_of(kNames, why);
}

std::string sentence(const Decision& decision) {
  return plain(decision) + (decision.detail.empty() ? "" : "; " + decision.detail);
}

Decision describe(const membership::Event& event, const membership::Command& command,
                  const membership::Reason& reason) {
  Decision d;
  d.kind = DecisionKind::kTransition;
  d.why = why_of(event, command);
  d.asked_by = reason.asked_by;
  d.cause = reason.cause;
  if (event.kind == membership::EventKind::kRingConfigChanged) {
    d.kind = DecisionKind::kRing;
    d.subject = "ring";
    d.detail = std::to_string(event.ring.virtual_nodes_per_physical) + " places per node, " +
               std::to_string(event.ring.replication_factor) + " copies";
    return d;
  }
  d.subject = event.node.id.value();
  if (event.from != NodeState::kUnknown) d.from = to_string(event.from);
  const bool gone = event.kind == membership::EventKind::kNodeRemoved;
  d.to = gone ? "" : to_string(event.node.state);
  if (d.why == Why::kAsked && d.from == d.to) {
    d.detail = event.node.drain_requested ? "it is to be drained" : "it is not to be drained";
  }
  return d;
}

std::optional<Decision> describe_election(const std::string& name_space, std::string_view before,
                                          std::string_view after,
                                          std::optional<Duration> stood_for) {
  const auto is = decode_leader_state(after);
  if (!is) return {};
  const auto was =
      before.empty() ? Result<LeaderState>(LeaderState{}) : decode_leader_state(before);
  const LeaderState old = was ? *was : LeaderState{};
  if (is->epoch == old.epoch && is->leader == old.leader) return {};
  Decision d;
  d.kind = DecisionKind::kLeader;
  d.subject = kNamespaceSubject + name_space;
  d.from = old.leader ? old.leader->value() : "";
  d.to = is->leader ? is->leader->value() : "";
  d.epoch = is->epoch.value();
  d.why = Why::kLeaseEnded;
  // Nobody led, and nobody does: the state had vanished.
  if (!is->leader && !is->released && !old.leader) return {};
  if (!is->leader || old.released) d.why = Why::kResigned;
  if (d.from.empty() && old.released) d.from = old.released->worker.value();
  if (old.epoch == Epoch{}) d.why = Why::kFirst;
  const bool stood = old.leader && stood_for && *stood_for < old.lease;
  if (is->leader && stood && d.from != d.to) d.kind = DecisionKind::kDisplaced;
  return d;
}

std::optional<Decision> describe_outage(const std::string& name_space, std::string_view before,
                                        std::string_view after) {
  const auto is = decode_worker(after);
  if (!is || !is->outage) return {};
  // A write whose answer was lost is repeated, and tells the same once more.
  const auto was = decode_worker(before);
  if (was && was->outage == is->outage) return {};
  const Outage& outage = *is->outage;
  Decision d;
  d.kind = DecisionKind::kBreaker;
  d.subject = kNamespaceSubject + name_space;
  d.to = is->worker.value();
  d.why = Why::kEnded;
  d.detail = "it could not from " + clock(outage.since) + " for " + seconds(outage.lasted) + ": " +
             std::to_string(outage.failures) +
             (outage.failures == 1 ? " heartbeat" : " heartbeats") +
             " failed, and its breaker opened";
  if (outage.opened > 1) d.detail += " " + std::to_string(outage.opened) + " times";
  return d;
}

}  // namespace muster::cluster
