#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/membership/cause.h"
#include "core/membership/node.h"

namespace muster::membership {

/// Everything that can change a topology. A command is proposed by the leader, becomes part of
/// the log, and is applied by every replica with the same result. `unknown` holds fields that a
/// newer server wrote; they survive decoding and encoding.

struct RegisterNode {
  NodeSpec node;
  std::string unknown;
  bool operator==(const RegisterNode&) const = default;
};

struct DeregisterNode {
  NodeId id;
  Generation generation;  ///< Empty: whichever is registered.
  std::string unknown;
  bool operator==(const DeregisterNode&) const = default;
};

struct Beat {
  Slot slot = 0;
  NodeState reported = NodeState::kUnknown;
  bool operator==(const Beat&) const = default;
};

/// One second of heartbeats. The proposer has checked every generation and then written slots for
/// names; a slot that was registered after `as_of` has changed hands since, and its beat is void.
struct BatchHeartbeat {
  std::uint64_t as_of = 0;  ///< Topology::registrations() when the slots were looked up.
  std::vector<Beat> beats;  ///< Strictly ascending by slot.
  std::string unknown;
  bool operator==(const BatchHeartbeat&) const = default;
};

/// What a decision about a silent node was based on. It is compared when the decision is applied:
/// a leader that was stuck, or was replaced, must not undo what happened since.
struct Observation {
  NodeId id;
  Generation generation;
  LogTime last_heartbeat_at{};
  std::uint64_t heartbeats = 0;
  bool operator==(const Observation&) const = default;
};
[[nodiscard]] Observation observe(const NodeEntry& node);

struct MarkSuspect {
  Observation seen;
  std::string unknown;
  bool operator==(const MarkSuspect&) const = default;
};

struct MarkDown {
  Observation seen;
  std::string unknown;
  bool operator==(const MarkDown&) const = default;
};

/// Heartbeats do not void it: they do not end the time that a node is given to become ACTIVE.
struct RemoveJoining {
  Observation seen;
  std::string unknown;
  bool operator==(const RemoveJoining&) const = default;
};

/// An operator's wish as servers of 0.1 write it: it outlives restarts of the node and ends with
/// its removal, and a node that is JOINING changes without a version. SetDrain does better.
struct Drain {
  NodeId id;
  bool cancel = false;
  std::string unknown;
  bool operator==(const Drain&) const = default;
};

/// An operator's wish. It outlives restarts and the removal of the node until it is taken back.
/// Whatever it changes that others see is an event.
struct SetDrain {
  NodeId id;
  bool drained = true;
  std::string unknown;
  bool operator==(const SetDrain&) const = default;
};

struct SetRingConfig {
  RingConfig ring;
  std::string unknown;
  bool operator==(const SetRingConfig&) const = default;
};

/// The position of a kind is its number in stored bytes: new kinds are added at the end, and none
/// is ever removed.
using Command = std::variant<RegisterNode, DeregisterNode, BatchHeartbeat, MarkSuspect, MarkDown,
                             RemoveJoining, Drain, SetRingConfig, SetDrain>;

/// A command with the log time that its leader gave it. Apply reads no other clock.
struct TimedCommand {
  LogTime time{};
  Command command;
  std::string unknown;
  Reason reason{};
  bool operator==(const TimedCommand&) const = default;
};

/// "RegisterNode" …, for people and metrics.
[[nodiscard]] const char* name(const Command& command);

/// Whether a command may be proposed. See validation.h for why apply does not ask this.
[[nodiscard]] Status validate(const Command& command);

}  // namespace muster::membership
