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
  double jitter = 0.1;           ///< A heartbeat comes earlier by up to this share, never later.
  Duration answer_timeout = 5s;  ///< After this the stream of heartbeats is opened anew.
  Duration first_delay = 200ms;  ///< Before something that failed is tried again; doubles.
  Duration delay_max = 10s;
  std::size_t registrations_max = 16;  ///< Under way at the same time.

  [[nodiscard]] Status validate() const;
};

enum class AgentEventKind {
  kRegistered,    ///< The node is in, with this generation.
  kLost,          ///< The servers do not have it as it was; it registers anew, as a new generation.
  kReplaced,      ///< Another process has taken its place: this one must stop its work. Final.
  kRefused,       ///< Its registration was refused. Tried again, unless the error is kInvalid.
  kDeregistered,  ///< It is out. Final.
  kUnreachable,   ///< Heartbeats are not acknowledged for the time being.
  kReachable,     ///< They are again.
};
[[nodiscard]] const char* to_string(AgentEventKind kind);

struct AgentEvent {
  AgentEventKind kind;
  NodeId node{};  ///< Empty with kUnreachable and kReachable: they concern all.
  Generation generation{};
  std::string reason{};
  bool final = false;  ///< The agent has nothing more to do with the node.
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

/// What an agent does for its nodes: registers them, beats for all of them at once, registers anew
/// what the servers have lost, and takes out who leaves.
///
/// A node whose place was taken by another process is left alone: to register it again would take
/// the place back, and the two would go on for ever. Every registration after a loss has a new
/// generation, because what the old one was entrusted with may have moved. Pure: told the time and
/// given the generations; one thread.
class AgentMachine {
 public:
  AgentMachine(const AgentConfig& config, Random random) : config_(config), random_(random) {}

  /// `spec.generation` empty: one is made. False when the node is there already.
  bool add(NodeSpec spec, MonoTime now);
  /// Reports DRAINING from now on, or ACTIVE again. False when there is no such node.
  bool set_draining(const NodeId& id, bool draining, MonoTime now);
  /// False when there is no such node.
  bool remove(const NodeId& id, MonoTime now);
  void remove_all(MonoTime now);

  struct Work {
    std::vector<NodeSpec> registrations;
    std::vector<AgentBeat> deregistrations;
    std::vector<AgentBeat> beats;  ///< One message; empty when none is due.
  };
  /// Everything to be done now; it counts as begun.
  [[nodiscard]] Work take_work(MonoTime now);
  /// When there is work again, unless something is answered or asked for before.
  [[nodiscard]] std::optional<MonoTime> work_at() const;

  using Events = std::vector<AgentEvent>;
  void registered(const NodeId& id, const Generation& generation, const Status& outcome,
                  MonoTime now, Events& events);
  /// Its registration was refused, because another process has the node's place since.
  void displaced(const NodeId& id, const std::string& reason, Events& events);
  void deregistered(const NodeId& id, const Status& outcome, MonoTime now, Events& events);
  void beats_answered(const std::vector<BeatRefusal>& refusals, MonoTime now, Events& events);
  /// The message was lost, or its answer was.
  void beats_lost(const std::string& reason, MonoTime now, Events& events);
  [[nodiscard]] bool beats_under_way() const { return !under_way_.empty(); }

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// The generation that a node is registered with; nothing while it is not.
  [[nodiscard]] std::optional<Generation> generation(const NodeId& id) const;

 private:
  enum class Phase { kOut, kRegistering, kIn, kLeaving, kDeregistering };
  struct Entry {
    NodeSpec spec;
    Phase phase = Phase::kOut;
    bool leaves = false;  ///< Asked for while a registration was under way.
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
  Waiting to_register_;    ///< The nodes in kOut, by when they are tried next.
  Waiting to_deregister_;  ///< Those in kLeaving.
  std::size_t registering_ = 0;
  std::deque<NodeId> to_beat_;
  std::vector<AgentBeat> under_way_;
  std::optional<MonoTime> round_at_;  ///< When every node beats again.
  MonoTime beat_at_{};                ///< Not before this, after a failure.
  int beat_failures_ = 0;
};

}  // namespace muster::client
