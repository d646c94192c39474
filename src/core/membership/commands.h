#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/membership/cause.h"
#include "core/membership/node.h"

namespace muster::membership {

/// All commands that change a topology. The leader proposes a command; it becomes part of the log,
/// and every replica applies it with the same result. `unknown` holds fields of a newer server;
/// they survive decoding and encoding.

struct RegisterNode {
  NodeSpec node;
  std::string unknown;
  bool operator==(const RegisterNode&) const = default;
};

/// A registration that servers up to level 2 cannot apply, because the node has a service without a
/// type, or tags.
struct RegisterServiceNode {
  NodeSpec node;
  std::string unknown;
  bool operator==(const RegisterServiceNode&) const = default;
};

struct DeregisterNode {
  NodeId id;
  Generation generation;  ///< Empty: the registered one.
  std::string unknown;
  bool operator==(const DeregisterNode&) const = default;
};

struct Beat {
  Slot slot = 0;
  NodeState reported = NodeState::kUnknown;
  bool operator==(const Beat&) const = default;
};

/// One second of heartbeats. The proposer has checked every generation and replaced names by slots;
/// a slot that was registered after `as_of` has another node since, and its beat is void.
struct BatchHeartbeat {
  std::uint64_t as_of = 0;  ///< Topology::registrations() when the slots were looked up.
  std::vector<Beat> beats;  ///< Strictly ascending by slot.
  std::string unknown;
  bool operator==(const BatchHeartbeat&) const = default;
};

/// The facts behind a decision about a silent node. They are compared when the decision is applied:
/// a leader that was stuck, or was replaced, must not undo later changes.
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

/// Heartbeats do not make it void: they do not extend the time to become ACTIVE.
struct RemoveJoining {
  Observation seen;
  std::string unknown;
  bool operator==(const RemoveJoining&) const = default;
};

/// An operator's drain as servers of 0.1 write it: it survives restarts of the node and ends with
/// its removal, and a JOINING node changes without a version. SetDrain replaces it.
struct Drain {
  NodeId id;
  bool cancel = false;
  std::string unknown;
  bool operator==(const Drain&) const = default;
};

/// An operator's drain. It survives restarts and the removal of the node until it is undone. Every
/// visible change of it is an event.
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
                             RemoveJoining, Drain, SetRingConfig, SetDrain, RegisterServiceNode>;

/// The registration of the node, as a command that as many servers as possible can apply.
[[nodiscard]] Command registration_of(NodeSpec node);
/// The node if the command registers one; otherwise null.
[[nodiscard]] const NodeSpec* registered_by(const Command& command);

/// A command with the log time from its leader. Apply reads no other clock.
struct TimedCommand {
  LogTime time{};
  Command command;
  std::string unknown;
  Reason reason{};
  bool operator==(const TimedCommand&) const = default;
};

/// "RegisterNode" …, for people and metrics.
[[nodiscard]] const char* name(const Command& command);

/// Whether a command may be proposed. validation.h says why apply does not check this.
[[nodiscard]] Status validate(const Command& command);

}  // namespace muster::membership
