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

/// Keeps nodes in the topology: registers them, sends their heartbeats, registers anew what the
/// servers have lost, and follows the topology meanwhile. Any number of nodes share one stream and
/// one thread, the client's.
///
/// Does not: decide what a node may do while its heartbeats are not acknowledged. Listen to
/// kLost, kReplaced and kUnreachable, or ask silence(). Any thread but the client's own; destroyed
/// before its client.
class NodeAgent {
 public:
  /// Called on the client's own thread, which must not be kept waiting.
  using Listener = std::function<void(const AgentEvent& event)>;

  [[nodiscard]] static Result<std::unique_ptr<NodeAgent>> start(Client& client,
                                                                const AgentConfig& config,
                                                                Listener listener,
                                                                const WatchConfig& watch = {});
  /// Ends at once: nobody is deregistered, and the servers notice by the silence.
  ~NodeAgent();
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  /// Goes on in the background. An empty generation is filled in. kInvalid names what is wrong,
  /// kConflict: the agent has that node already.
  Status add(NodeSpec node);
  /// Reports DRAINING from now on: keys move away, the node stays registered. Or takes that back.
  Status drain(const NodeId& id, bool draining = true);
  /// Deregisters it, in the background.
  Status remove(const NodeId& id);
  /// Deregisters all and waits. False when some are still registered after `limit`.
  [[nodiscard]] bool stop(Duration limit = 10s);

  /// The generation that the node is registered with; nothing while it is not.
  [[nodiscard]] std::optional<Generation> generation(const NodeId& id);
  /// How long ago heartbeats were last acknowledged; nothing before the first time.
  [[nodiscard]] std::optional<Duration> silence();

  /// For lookups, without a lock; one for each thread.
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
