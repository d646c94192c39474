#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "client/coordinator_client.h"
#include "client/topology_watch.h"
#include "core/client/agent_machine.h"

namespace muster::client {

/// Keeps nodes in the topology: registers them, sends their heartbeats, registers lost nodes anew,
/// and follows the topology. Any number of nodes share one stream and one thread, the client's.
///
/// Not guaranteed: what a node may do while its heartbeats are not acknowledged. Listen to kLost,
/// kReplaced and kUnreachable, or check silence().
///
/// Threads: any but the client's own. Must be destroyed before its client.
class NodeAgent {
 public:
  /// Called on the client's own thread, which must not be blocked.
  using Listener = std::function<void(const AgentEvent& event)>;

  [[nodiscard]] static Result<std::unique_ptr<NodeAgent>> start(Client& client,
                                                                const AgentConfig& config,
                                                                Listener listener,
                                                                const WatchConfig& watch = {});
  /// Ends at once: deregisters no node, and the servers notice by the silence.
  ~NodeAgent();
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  /// Registers in the background. Fills in an empty generation. kInvalid names the invalid field;
  /// kConflict: the agent has that node already.
  Status add(NodeSpec node);
  /// Reports DRAINING from now on: keys move away, the node stays registered. Or ends that.
  Status drain(const NodeId& id, bool draining = true);
  /// Deregisters it, in the background.
  Status remove(const NodeId& id);
  /// Deregisters all nodes and waits. False if some are still registered after `limit`.
  [[nodiscard]] bool stop(Duration limit = 10s);

  /// The generation of the registered node; nothing while it is not registered.
  [[nodiscard]] std::optional<Generation> generation(const NodeId& id);
  /// How long ago heartbeats were last acknowledged; nothing before the first time.
  [[nodiscard]] std::optional<Duration> silence();

  /// For lookups without a lock; each thread needs its own.
  [[nodiscard]] TopologyReader topology_reader() const;
  [[nodiscard]] std::shared_ptr<const TopologyView> topology() const;

 private:
  struct State;
  NodeAgent(Client& client, const AgentConfig& config, Listener listener,
            std::unique_ptr<TopologyWatch> watch);

  Runtime& runtime_;
  std::unique_ptr<State> state_;
  std::unique_ptr<TopologyWatch> watch_;
};

}  // namespace muster::client
