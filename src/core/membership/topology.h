#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "core/membership/calendar.h"
#include "core/membership/commands.h"
#include "core/membership/node.h"

namespace muster::membership {

enum class EventKind { kNodeAdded, kNodeUpdated, kNodeRemoved, kRingConfigChanged };

/// One change of a topology. Versions chain: previous_version is the version of the event before,
/// and version is one more.
struct Event {
  EventKind kind;
  TopologyVersion previous_version;
  TopologyVersion version;
  NodeEntry node;   ///< As after the change, or as before its removal.
  NodeState from;   ///< Its previous state; kUnknown for a new node.
  RingConfig ring;  ///< Only with kRingConfigChanged.
  /// The node before, if it has moved to another service: only a DOWN node can.
  std::shared_ptr<const NodeEntry> before;
};

/// The effects of an accepted command, except for its events.
struct Outcome {
  bool already_registered = false;
  std::size_t beats_applied = 0;
  /// Void beats: their slots have another node, are free, or belong to a DOWN node.
  std::size_t beats_void = 0;
};

struct ApplyResult {
  TopologyVersion before;
  TopologyVersion after;
  Result<Outcome> outcome;
  std::vector<Event> events;  ///< One per version between before and after.
};

/// All of a topology as plain data, for snapshots.
struct TopologySnapshot {
  TopologyVersion version;
  LogTime log_time{};
  Calendar calendar;
  std::uint64_t registrations = 0;
  RingConfig ring;
  std::vector<NodeEntry> nodes;
  std::vector<Departed> departed;
  std::map<NodeId, TopologyVersion> drains;
  std::string unknown;
};

/// The replicated state machine: which nodes there are, in which state, at which version.
///
/// Guarantees: the same commands with the same log times give the same state, answers and
/// events on every replica. A refused command changes neither state nor version, and heartbeats
/// raise the version only if they change a node's state. A version is one event. Not
/// guaranteed: valid input (validation.h), measured silence (failure_detector.h), history.
/// Refused commands also advance log time. Lookups by id and by slot take constant time.
/// Threads: one.
class Topology {
 public:
  Topology() = default;
  Topology(Topology&&) = default;
  Topology& operator=(Topology&&) = default;

  ApplyResult apply(const Command& command, LogTime time);
  ApplyResult apply(const TimedCommand& timed) { return apply(timed.command, timed.time); }

  [[nodiscard]] TopologyVersion version() const { return version_; }
  /// Advances log time, also without a change. Log time never falls. `wall` is the leader's clock
  /// at that time.
  void pass_time(LogTime time, WallTime wall) {
    log_time_ = std::max(log_time_, time);
    calendar_.note(log_time_, wall);
  }
  [[nodiscard]] LogTime log_time() const { return log_time_; }
  /// The label of that time for people.
  [[nodiscard]] WallTime label(LogTime time) const { return calendar_.label(time); }
  [[nodiscard]] const Calendar& calendar() const { return calendar_; }
  /// The number of accepted registrations so far; see BatchHeartbeat::as_of.
  [[nodiscard]] std::uint64_t registrations() const { return registrations_; }
  [[nodiscard]] const RingConfig& ring() const { return ring_; }
  [[nodiscard]] std::size_t size() const { return by_id_.size(); }
  [[nodiscard]] std::size_t count(NodeState state) const;
  /// The last removed nodes, at most kDepartedMax, newest last, without those that are back.
  [[nodiscard]] const std::vector<Departed>& departed() const { return departed_; }
  /// The nodes that an operator has drained by SetDrain, registered or not, and at which version.
  /// Of the unregistered ones the latest kAbsentDrainsMax.
  [[nodiscard]] const std::map<NodeId, TopologyVersion>& drains() const { return drains_; }
  /// Snapshot fields of a newer server.
  [[nodiscard]] const std::string& unknown() const { return unknown_; }

  /// Null if there is none. Valid until the next apply.
  [[nodiscard]] const NodeEntry* find(const NodeId& id) const;
  [[nodiscard]] const NodeEntry* at(Slot slot) const;
  /// Calls `f(const NodeEntry&)` in the order of slots, which is the same on every replica.
  template <typename F>
  void for_each(F&& f) const {
    for (const auto& node : slots_) {
      if (node) f(*node);
    }
  }

  /// Every node as it is now, in the order of slots; later changes do not affect the result. It
  /// costs a few nanoseconds per node now, and a copy of each node that changes while it is held.
  /// The pointers belong to the thread of the topology.
  [[nodiscard]] std::vector<std::shared_ptr<const NodeEntry>> freeze() const;

  /// The answer to a heartbeat now, before it is batched. kNotFound: not registered, so the node
  /// must register (again). kConflict: a zombie, or DOWN; this process must not continue as it is.
  [[nodiscard]] Result<Slot> check_heartbeat(const NodeId& id, const Generation& generation) const;

  /// Whether `command` may be proposed for this topology: kInvalid if weights and the ring would
  /// not fit together. Two commands under way at once may still exceed the limit; rings then cut
  /// the excess (HashRing::virtual_nodes_of).
  [[nodiscard]] Status may_propose(const Command& command) const;

  /// kCorrupt if ids or slots repeat or exceed their bounds.
  [[nodiscard]] static Result<Topology> restore(TopologySnapshot image);

 private:
  using Answer = Result<Outcome>;
  using Events = std::vector<Event>;

  Answer on(const RegisterNode& command, Events& events);
  Answer on(const RegisterServiceNode& command, Events& events);
  Answer on(const DeregisterNode& command, Events& events);
  Answer on(const BatchHeartbeat& command, Events& events);
  Answer on(const MarkSuspect& command, Events& events);
  Answer on(const MarkDown& command, Events& events);
  Answer on(const RemoveJoining& command, Events& events);
  Answer on(const Drain& command, Events& events);
  Answer on(const SetRingConfig& command, Events& events);
  Answer on(const SetDrain& command, Events& events);

  [[nodiscard]] NodeEntry* find_mutable(const NodeId& id);
  /// The node to change: replaced by a copy first if freeze() has handed it out.
  [[nodiscard]] NodeEntry* own(Slot slot);
  Answer enter(const NodeSpec& spec, Events& events);
  Answer add(const NodeSpec& spec, Events& events);
  Answer replace(NodeEntry& node, const NodeSpec& spec, Events& events);
  void begin(NodeEntry& node, const NodeSpec& spec);
  /// The remembered generations of a node that is back, for its new entry.
  [[nodiscard]] std::vector<Generation> recall(const NodeSpec& spec);
  Answer drain(NodeEntry* node, const NodeId& id, Events& events);
  Answer undrain(NodeEntry* node, const NodeId& id, Events& events);
  void keep_absent_drain(const NodeId& id);
  void remove(const NodeEntry& node, Events& events);
  void move_to(NodeEntry& node, NodeState state, Events& events);
  void set_state(NodeEntry& node, NodeState state);
  void emit(EventKind kind, const NodeEntry& node, NodeState from, Events& events);
  [[nodiscard]] std::size_t& counter(NodeState state);

  TopologyVersion version_;
  LogTime log_time_{};
  Calendar calendar_;
  std::uint64_t registrations_ = 0;
  RingConfig ring_;
  std::vector<Departed> departed_;
  std::map<NodeId, TopologyVersion> drains_;
  std::size_t absent_drains_ = 0;  ///< Those of unregistered nodes.
  std::string unknown_;
  /// Null if a slot is free. Pointers, so that a sparse topology stays small.
  std::vector<std::shared_ptr<NodeEntry>> slots_;
  std::unordered_map<NodeId, Slot> by_id_;
  /// Smallest first, so that a replica that started from a snapshot uses the same slot as one that
  /// saw every command.
  std::priority_queue<Slot, std::vector<Slot>, std::greater<>> free_;
  /// By state; unknown states of a newer server count as UNKNOWN.
  std::array<std::size_t, kNodeStates> counts_{};
};

}  // namespace muster::membership
