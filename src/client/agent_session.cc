#include "client/agent_session.h"

#include <utility>

#include "client/requests.h"

namespace muster::client {
namespace {

constexpr Duration kCallTimeout = 10s;

}  // namespace

AgentSession::AgentSession(Caller& caller, const AgentConfig& config, Listener listener)
    : caller_(caller),
      config_(config),
      listener_(std::move(listener)),
      machine_(config, Random(caller.random().next())),
      work_(caller.loop()),
      answer_(caller.loop()) {}

AgentSession::~AgentSession() = default;

void AgentSession::pump() {
  const AgentMachine::Work work = machine_.take_work(now());
  for (const NodeSpec& spec : work.registrations) register_node(spec);
  for (const AgentBeat& node : work.deregistrations) deregister_node(node);
  if (!work.beats.empty()) send(work.beats);
  if (const auto next = machine_.work_at()) {
    work_.arm(*next, [this] { pump(); });
  } else {
    work_.cancel();
  }
}

void AgentSession::settle(const AgentMachine::Events& events) {
  const std::weak_ptr<int> alive = lifetime_.token();
  for (const AgentEvent& event : events) {
    if (listener_) listener_(event);
    if (alive.expired()) return;
  }
  pump();
}

void AgentSession::register_node(const NodeSpec& spec) {
  caller_.start(encode(RegisterNode{spec}), now() + kCallTimeout,
                lifetime_.wrap([this, spec](const Result<std::string>& body) {
                  AgentMachine::Events events;
                  if (!body && caller_.replaced()) {
                    machine_.displaced(spec.id, body.error().message, events);
                  } else {
                    machine_.registered(spec.id, spec.generation,
                                        body ? Status(Done{}) : Status(body.error()), now(),
                                        events);
                  }
                  settle(events);
                }));
}

void AgentSession::deregister_node(const AgentBeat& node) {
  caller_.start(encode(DeregisterNode{node.node, node.generation}), now() + kCallTimeout,
                lifetime_.wrap([this, id = node.node](const Result<std::string>& body) {
                  AgentMachine::Events events;
                  machine_.deregistered(id, body ? Status(Done{}) : Status(body.error()), now(),
                                        events);
                  settle(events);
                }));
}

void AgentSession::send(const std::vector<AgentBeat>& beats) {
  if (stream_ == nullptr) open_stream();
  stream_->send(encode_beats(beats, TopologyVersion(0)));
  answer_.arm(config_.answer_timeout, [this] {
    caller_.board().failed(server_);
    on_stream_end(server_ + " did not answer heartbeats; check its health");
  });
}

void AgentSession::open_stream() {
  server_ = caller_.board().choose(Aim::kLeader, {});
  StreamEvents events;
  events.message = [this](const std::string& body) { on_answer(body); };
  events.end = [this](const RpcStatus& status) {
    if (status.leader_address.empty()) {
      caller_.board().failed(server_);
    } else {
      caller_.board().learned_leader(status.leader_address);
    }
    on_stream_end(status.ok() ? server_ + " ended the stream of heartbeats"
                              : to_error(status, server_, Effect::kRead).message);
  };
  stream_ = caller_.connection(server_).stream("/muster.v1.CoordinatorService/HeartbeatStream", {},
                                               std::move(events));
}

void AgentSession::on_answer(const std::string& body) {
  const auto answer = decode_beats_answer(body);
  if (!answer || !machine_.beats_under_way()) {
    return on_stream_end(server_ + (answer ? " acknowledged heartbeats that were not sent"
                                           : ": " + answer.error().message));
  }
  answer_.cancel();
  acknowledged_at_ = now();
  caller_.board().answered(server_);
  caller_.board().learned_leader(answer->leader_address);
  AgentMachine::Events events;
  machine_.beats_answered(answer->refusals, now(), events);
  settle(events);
}

void AgentSession::on_stream_end(const std::string& reason) {
  stream_.reset();
  answer_.cancel();
  AgentMachine::Events events;
  machine_.beats_lost(reason, now(), events);
  settle(events);
}

}  // namespace muster::client
