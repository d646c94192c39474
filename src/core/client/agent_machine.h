#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "core/client/node.h"
#include "core/client/rpc_status.h"

namespace muster::client {

struct AgentConfig {
  Duration heartbeat_interval = 10s;
  double jitter = 0.1;           ///< Heartbeats come earlier by up to this share, never later.
  Duration answer_timeout = 5s;  ///< After this time the heartbeat stream is reopened.
  Duration first_delay = 200ms;  ///< Before a retry; doubles.
  Duration delay_max = 10s;
  std::size_t registrations_max = 16;  ///< Under way at the same time.

  [[nodiscard]] Status validate() const;
};

enum class AgentEventKind {
  kRegistered,    ///< The node is registered, with this generation.
  kLost,          ///< The servers lost it; it registers anew, with a new generation.
  kReplaced,      ///< Another process has registered it: stop the work. Final.
  kRefused,       ///< Its registration was refused. Retried, unless the error is kInvalid.
  kDeregistered,  ///< It is no longer registered. Final.
  kUnreachable,   ///< Heartbeats are not acknowledged at present.
  kReachable,     ///< They are again.
};
[[nodiscard]] const char* to_string(AgentEventKind kind);

struct AgentEvent {
  AgentEventKind kind;
  NodeId node{};  ///< Empty with kUnreachable and kReachable, which concern all nodes.
  Generation generation{};
  std::string reason{};
  bool final = false;  ///< The agent is done with the node.
};

/// One node's part of a message.
struct AgentBeat {
  NodeId node;
  Generation generation;
  NodeState reported = NodeState::kActive;
};

struct BeatRefusal {
  std::size_t position = 0;  ///< In the batch.
  RpcStatus status;
};

/// Decides the actions of an agent for its nodes: registrations, heartbeats for all of them at
/// once, new registrations of lost nodes, and deregistrations.
///
/// A node that another process has registered is left alone: to register it again would displace
/// that process, and the two would go on for ever. Every registration after a loss has a new
/// generation, because the work of the old one may have moved. Pure: the caller passes the time and
/// the generations. Threads: one.
class AgentMachine {
 public:
  AgentMachine(const AgentConfig& config, Random random) : config_(config), random_(random) {}

  /// `spec.generation` empty: a new one is made. False if the node exists already.
  bool add(NodeSpec spec, MonoTime now);
  /// Reports DRAINING from now on, or ACTIVE again. False if there is no such node.
  bool set_draining(const NodeId& id, bool draining, MonoTime now);
  /// False if there is no such node.
  bool remove(const NodeId& id, MonoTime now);
  void remove_all(MonoTime now);

  struct Work {
    std::vector<NodeSpec> registrations;
    std::vector<AgentBeat> deregistrations;
    std::vector<AgentBeat> beats;  ///< One message; empty when none is due.
  };
  /// Returns everything to be done now, and counts it as begun.
  [[nodiscard]] Work take_work(MonoTime now);
  /// When there is work again, unless an answer or a request comes first.
  [[nodiscard]] std::optional<MonoTime> work_at() const;

  using Events = std::vector<AgentEvent>;
  void registered(const NodeId& id, const Generation& generation, const Status& outcome,
                  MonoTime now, Events& events);
  /// Its registration was refused, because another process has registered the node since.
  void displaced(const NodeId& id, const std::string& reason, Events& events);
  void deregistered(const NodeId& id, const Status& outcome, MonoTime now, Events& events);
  void beats_answered(const std::vector<BeatRefusal>& refusals, MonoTime now, Events& events);
  /// The message was lost, or its answer was.
  void beats_lost(const std::string& reason, MonoTime now, Events& events);
  [[nodiscard]] bool beats_under_way() const { return !under_way_.empty(); }

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// The generation of a registered node; nothing while it is not registered.
  [[nodiscard]] std::optional<Generation> generation(const NodeId& id) const;

 private:
  enum class Phase { kOut, kRegistering, kIn, kLeaving, kDeregistering };
  struct Entry {
    NodeSpec spec;
    Phase phase = Phase::kOut;
    bool leaves = false;  ///< Requested while a registration was under way.
    bool draining = false;
    bool beats = false;  ///< It is in to_beat_.
    int failures = 0;
  };
  using Waiting = std::set<std::pair<MonoTime, NodeId>>;

  void beat_soon(Entry& entry, MonoTime now);
  void leave(Entry& entry, MonoTime now);
  void lose(Entry& entry, const std::string& reason, MonoTime now, Events& events);
  void refuse_beat(const AgentBeat& beat, const RpcStatus& status, MonoTime now, Events& events);
  void end(const NodeId& id, AgentEventKind kind, const std::string& reason, Events& events);
  [[nodiscard]] std::vector<AgentBeat> take_beats(MonoTime now);
  [[nodiscard]] Duration backoff(int failures);

  AgentConfig config_;
  Random random_;
  std::map<NodeId, Entry> nodes_;
  Waiting to_register_;    ///< The nodes in kOut, by the time of their next try.
  Waiting to_deregister_;  ///< Those in kLeaving.
  std::size_t registering_ = 0;
  std::deque<NodeId> to_beat_;
  std::vector<AgentBeat> under_way_;
  std::optional<MonoTime> round_at_;  ///< When every node beats again.
  MonoTime beat_at_{};                ///< Not before this, after a failure.
  int beat_failures_ = 0;
};

}  // namespace muster::client
