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

/// What a decision is about. The numbers are those of stored bytes; they never change.
enum class DecisionKind : std::uint8_t {
  kUnknown = 0,
  kTransition = 1,  ///< Of a node.
  kLeader = 2,      ///< Of the servers, or of a namespace of the versioned store.
  kDisplaced = 3,   ///< A leader was replaced while its lease stood.
  kBreaker = 4,     ///< Of a worker that could not reach the store for a while.
  kBrake = 5,
  kEngine = 6,  ///< It did not answer for a while.
  kServer = 7,
  kRing = 8,
};
/// "transition", "leader" …; what only a newer server knows reads "unknown".
[[nodiscard]] const char* to_string(DecisionKind kind);

/// Why, in a word. Numbers as above.
enum class Why : std::uint8_t {
  kUnknown = 0,
  kRegistered = 1,
  kReplaced = 2,        ///< Another process registered under the id.
  kHeartbeat = 3,       ///< The node was heard.
  kReported = 4,        ///< The node said so itself.
  kSilence = 5,         ///< The node was not heard for too long.
  kJoiningTimeout = 6,  ///< It never became ACTIVE.
  kAsked = 7,           ///< Somebody asked for it.
  kDeregistered = 8,
  kFirst = 9,        ///< Nobody led before.
  kResigned = 10,    ///< The one before handed over.
  kLeaseEnded = 11,  ///< The one before was not heard any more.
  kBegan = 12,
  kEnded = 13,
  kAnnounced = 14,
  kForgotten = 15,
};
/// "registered", "lease-ended" …
[[nodiscard]] const char* to_string(Why why);

/// The texts of a decision are cut at so many bytes.
inline constexpr std::size_t kDecisionTextMax = 256;

/// One thing that was decided, and everything that an operator needs to understand it.
struct Decision {
  std::uint64_t seq = 0;  ///< Counts decisions of the cluster, from 1.
  WallTime at{};          ///< A label, for people.
  DecisionKind kind = DecisionKind::kUnknown;
  std::string subject;  ///< A node, "servers", "namespace=NAME", a server, "ring", "brake".
  std::string from;     ///< A state, or who led; empty when there was none.
  std::string to;       ///< Likewise; of a breaker, the worker whose it is.
  Why why = Why::kUnknown;
  std::optional<membership::Cause> cause{};  ///< Of a judgement by the failure detector.
  std::string asked_by{};                    ///< Who sent the request that led to it.
  std::string detail{};                      ///< More, in words; part of the sentence.
  std::uint64_t epoch = 0;                   ///< Of the leadership under which it was decided.
  std::string unknown{};
  bool operator==(const Decision&) const = default;
};

/// The subject of the servers' own leadership, and the head of that of a namespace.
inline constexpr const char* kServersSubject = "servers";
inline constexpr const char* kNamespaceSubject = "namespace=";

/// A sentence for a tired operator; it does not repeat the time.
[[nodiscard]] std::string sentence(const Decision& decision);

/// What a change of the topology is in the log of decisions.
[[nodiscard]] Decision describe(const membership::Event& event, const membership::Command& command,
                                const membership::Reason& reason);
/// What a write to the state of a namespace decided, if it decided anything: `before` is empty
/// when there was no state. Neither body needs to be readable. `stood_for` is how long `before` has
/// been there, where the servers know that.
[[nodiscard]] std::optional<Decision> describe_election(const std::string& name_space,
                                                        std::string_view before,
                                                        std::string_view after,
                                                        std::optional<Duration> stood_for);
/// Likewise for a write to the file of a worker, which tells there that it could not reach the
/// store. What it told in `before` already is not told again.
[[nodiscard]] std::optional<Decision> describe_outage(const std::string& name_space,
                                                      std::string_view before,
                                                      std::string_view after);

/// In the protobuf wire format; unknown fields survive. kCorrupt when damaged.
[[nodiscard]] std::string encode(const Decision& decision);
[[nodiscard]] Result<Decision> decode_decision(std::string_view bytes);

}  // namespace muster::cluster
