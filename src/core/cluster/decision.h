#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/membership/cause.h"
#include "core/membership/commands.h"
#include "core/membership/topology.h"

namespace muster::cluster {

using membership::LogTime;

/// The kind of a decision. The numbers are stored; they never change.
enum class DecisionKind : std::uint8_t {
  kUnknown = 0,
  kTransition = 1,  ///< Of a node.
  kLeader = 2,      ///< Of the servers, or of an election in the versioned store.
  kDisplaced = 3,   ///< A leader was replaced before its lease expired.
  kBreaker = 4,     ///< Of a worker that could not reach the store.
  kBrake = 5,
  kEngine = 6,  ///< It did not answer for some time.
  kServer = 7,
  kRing = 8,
  kDrain = 9,  ///< An operator undrained a node that is not registered.
};
/// "transition", "leader" …; a kind of a newer server reads "unknown".
[[nodiscard]] const char* to_string(DecisionKind kind);

/// The cause, in a word. The numbers are stored, too.
enum class Why : std::uint8_t {
  kUnknown = 0,
  kRegistered = 1,
  kReplaced = 2,        ///< Another process registered the id.
  kHeartbeat = 3,       ///< The node was heard.
  kReported = 4,        ///< The node reported it itself.
  kSilence = 5,         ///< The node was silent for too long.
  kJoiningTimeout = 6,  ///< It never became ACTIVE.
  kAsked = 7,           ///< By request.
  kDeregistered = 8,
  kFirst = 9,        ///< There was no leader before.
  kResigned = 10,    ///< The previous leader handed over.
  kLeaseEnded = 11,  ///< The previous leader was no longer heard.
  kBegan = 12,
  kEnded = 13,
  kAnnounced = 14,
  kForgotten = 15,
};
/// "registered", "lease-ended" …
[[nodiscard]] const char* to_string(Why why);

/// The texts of a decision are cut at this many bytes.
inline constexpr std::size_t kDecisionTextMax = 256;

/// One decision, with everything that an operator needs to understand it.
struct Decision {
  std::uint64_t seq = 0;  ///< Counts decisions of the cluster, from 1.
  WallTime at{};          ///< A label, for people.
  DecisionKind kind = DecisionKind::kUnknown;
  std::string subject;  ///< A node, "servers", "namespace=NAME", a server, "ring", "brake".
  std::string from;     ///< A state, or the leader; empty if there was none.
  std::string to;       ///< Likewise; for a breaker, its worker.
  Why why = Why::kUnknown;
  std::optional<membership::Cause> cause{};  ///< Of a decision by the failure detector.
  std::string asked_by{};                    ///< The client whose request led to it.
  std::string detail{};                      ///< More, in words; part of the sentence.
  std::uint64_t epoch = 0;                   ///< Of the leadership under which it was decided.
  std::string unknown{};
  bool operator==(const Decision&) const = default;
};

/// The subject of the servers' leadership, and the prefix of the subject of an election.
inline constexpr const char* kServersSubject = "servers";
inline constexpr const char* kNamespaceSubject = "namespace=";

/// A sentence for operators; it does not repeat the time.
[[nodiscard]] std::string sentence(const Decision& decision);

/// The decision that describes a change of the topology.
[[nodiscard]] Decision describe(const membership::Event& event, const membership::Command& command,
                                const membership::Reason& reason);
/// The decision in a write to the state of an election, if there is one: `before` is empty if there
/// was no state. Both bodies may be unreadable. `stood_for` is the age of `before`, if the servers
/// know it.
[[nodiscard]] std::optional<Decision> describe_election(const std::string& name_space,
                                                        std::string_view before,
                                                        std::string_view after,
                                                        std::optional<Duration> stood_for);
/// The decision in a write to a worker's file, in which the worker reports that it could not reach
/// the store. An outage reported in `before` is not reported again.
[[nodiscard]] std::optional<Decision> describe_outage(const std::string& name_space,
                                                      std::string_view before,
                                                      std::string_view after);

/// The protobuf wire format; unknown fields survive. kCorrupt if damaged.
[[nodiscard]] std::string encode(const Decision& decision);
[[nodiscard]] Result<Decision> decode_decision(std::string_view bytes);

}  // namespace muster::cluster
