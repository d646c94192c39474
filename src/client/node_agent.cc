#include "client/node_agent.h"

#include <future>
#include <utility>

#include "client/agent_session.h"
#include "core/membership/validation.h"
#include "platform/system_clock.h"

namespace muster::client {

/// Of the loop.
struct NodeAgent::State {
  Listener listener;
  std::unique_ptr<AgentSession> session;
  std::shared_ptr<std::promise<void>> when_empty;  ///< A thread waits in stop().

  void tell_if_empty() {
    if (when_empty == nullptr || session->machine().size() > 0) return;
    std::exchange(when_empty, nullptr)->set_value();
  }
  void on_event(const AgentEvent& event) {
    tell_if_empty();
    if (listener) listener(event);
  }
};

Result<std::unique_ptr<NodeAgent>> NodeAgent::start(Client& client, const AgentConfig& config,
                                                    Listener listener, const WatchConfig& watch) {
  if (Status status = config.validate(); !status) return status.error();
  auto following = watch_topology_with_recovery(client, watch, {});
  if (!following) return following.error();
  return std::unique_ptr<NodeAgent>(
      new NodeAgent(client, config, std::move(listener), std::move(*following)));
}

NodeAgent::NodeAgent(Client& client, const AgentConfig& config, Listener listener,
                     std::unique_ptr<TopologyWatch> watch)
    : runtime_(client.runtime()), state_(std::make_unique<State>()), watch_(std::move(watch)) {
  state_->listener = std::move(listener);
  runtime_.run([&] {
    state_->session = std::make_unique<AgentSession>(
        runtime_.caller(), config,
        [state = state_.get()](const AgentEvent& event) { state->on_event(event); });
  });
}

NodeAgent::~NodeAgent() {
  runtime_.run([this] { state_->session.reset(); });
}

Status NodeAgent::add(NodeSpec node) {
  if (node.generation.value().empty()) node.generation = Generation(system_random().uuid());
  if (Status status = membership::validate(node); !status) return status;
  bool added = false;
  runtime_.run([&] {
    added = state_->session->machine().add(node, runtime_.loop().now());
    state_->session->pump();
  });
  if (added) return Done{};
  return {Errc::kConflict, "the agent has node " + node.id.value() + " already"};
}

Status NodeAgent::drain(const NodeId& id, bool draining) {
  bool known = false;
  runtime_.run([&] {
    known = state_->session->machine().set_draining(id, draining, runtime_.loop().now());
    state_->session->pump();
  });
  if (known) return Done{};
  return {Errc::kNotFound, "the agent has no node " + id.value()};
}

Status NodeAgent::remove(const NodeId& id) {
  bool known = false;
  runtime_.run([&] {
    known = state_->session->machine().remove(id, runtime_.loop().now());
    state_->session->pump();
  });
  if (known) return Done{};
  return {Errc::kNotFound, "the agent has no node " + id.value()};
}

bool NodeAgent::stop(Duration limit) {
  auto empty = std::make_shared<std::promise<void>>();
  std::future<void> waited = empty->get_future();
  runtime_.run([&] {
    state_->when_empty = empty;
    state_->session->machine().remove_all(runtime_.loop().now());
    state_->session->pump();
    state_->tell_if_empty();
  });
  return waited.wait_for(limit) == std::future_status::ready;
}

std::optional<Generation> NodeAgent::generation(const NodeId& id) {
  std::optional<Generation> generation;
  runtime_.run([&] { generation = state_->session->machine().generation(id); });
  return generation;
}

std::optional<Duration> NodeAgent::silence() {
  std::optional<MonoTime> at;
  runtime_.run([&] { at = state_->session->acknowledged_at(); });
  if (!at) return {};
  return runtime_.loop().now() - *at;
}

TopologyReader NodeAgent::topology_reader() const {
  return watch_->reader();
}

std::shared_ptr<const TopologyView> NodeAgent::topology() const {
  return watch_->view();
}

}  // namespace muster::client
