#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "client/caller.h"
#include "client/wire.h"
#include "core/client/agent_machine.h"

namespace muster::client {

/// Performs the decisions of AgentMachine: calls for registrations, one stream for all heartbeats.
/// Threads: loop thread only.
class AgentSession {
 public:
  using Listener = std::function<void(const AgentEvent&)>;

  /// The listener may destroy this.
  AgentSession(Caller& caller, const AgentConfig& config, Listener listener);
  /// Cancels calls under way; deregisters no node.
  ~AgentSession();
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

  /// For changes of the nodes; call pump() afterwards.
  [[nodiscard]] AgentMachine& machine() { return machine_; }
  /// Performs the due actions.
  void pump();
  /// When the servers last acknowledged heartbeats; nothing before the first time.
  [[nodiscard]] std::optional<MonoTime> acknowledged_at() const { return acknowledged_at_; }

 private:
  void register_node(const NodeSpec& spec);
  void deregister_node(const AgentBeat& node);
  void send(const std::vector<AgentBeat>& beats);
  void open_stream();
  void on_answer(const std::string& body);
  void on_stream_end(const std::string& reason);
  /// Tells the listener, then performs the due actions.
  void settle(const AgentMachine::Events& events);
  [[nodiscard]] MonoTime now() { return caller_.loop().now(); }

  Caller& caller_;
  AgentConfig config_;
  Listener listener_;
  AgentMachine machine_;
  std::string server_;
  std::unique_ptr<Stream> stream_;
  Timer work_;
  Timer answer_;  ///< Ends a stream with an overdue answer.
  std::optional<MonoTime> acknowledged_at_;
  Lifetime lifetime_;
};

}  // namespace muster::client
