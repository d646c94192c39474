#include "server/api/coordinator_service.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/membership/validation.h"
#include "server/api/convert.h"
#include "server/api/screened_beats.h"
#include "server/rpc/message.h"
#include "server/web/observer.h"

namespace muster::server {
namespace {

constexpr int kBatchBeatsMax = 10'000;
/// Filters for which the bytes of a topology are kept.
constexpr std::size_t kFiltersKept = 16;

/// Why a registration was refused. The id is taken, unless it is this very process that must not
/// return.
rpc::RpcStatus registration_refused(const membership::Topology& topology,
                                    const membership::NodeSpec& spec, const Error& error) {
  rpc::RpcStatus status = rpc::to_status(error);
  if (error.code != Errc::kConflict) return status;
  const membership::NodeEntry* holder = topology.find(spec.id);
  if (holder == nullptr) return status;
  const bool returned = std::find(holder->retired.begin(), holder->retired.end(),
                                  spec.generation) != holder->retired.end();
  const bool ended =
      holder->generation == spec.generation && holder->state == membership::NodeState::kDown;
  status.replaced = returned;
  if (!returned && !ended) status.code = rpc::Code::kAlreadyExists;
  return status;
}

v1::RaftState raft_state(const LeaderView& leader) {
  if (leader.self) return v1::RAFT_STATE_LEADER;
  return leader.id.empty() ? v1::RAFT_STATE_CANDIDATE : v1::RAFT_STATE_FOLLOWER;
}

}  // namespace

void CoordinatorService::add_to(rpc::Router& router) {
  const std::string service = "/muster.v1.CoordinatorService/";
  router.add(service + "GetTopology", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::GetTopologyRequest>(
        call, [this](const auto& c, const auto& request, const auto&) { GetTopology(c, request); });
  });
  router.add(service + "WatchTopology", [this](const rpc::CallPtr& call) {
    rpc::read_opening<v1::WatchTopologyRequest>(
        call,
        [this](const auto& c, const auto& request, const auto&) { WatchTopology(c, request); });
  });
  router.add(service + "RegisterNode", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::RegisterNodeRequest>(
        call, [this](const auto& c, const auto& request, const std::string& bytes) {
          const v1::NodeInfo& node = request.node();
          if (!cluster_.access().registers(c, node.id(), node.address())) return;
          if (!cluster_.access().charge(c, LimitedCall::kRegister, node.id())) return;
          cluster_.at_leader(c, bytes, [this, c, request] { RegisterNode(c, request); });
        });
  });
  router.add(service + "DeregisterNode", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::DeregisterNodeRequest>(
        call, [this](const auto& c, const auto& request, const std::string& bytes) {
          if (!cluster_.access().speaks_for(c, request.node_id())) return;
          if (!cluster_.access().charge(c, LimitedCall::kDeregister, request.node_id())) return;
          cluster_.at_leader(c, bytes, [this, c, request] { DeregisterNode(c, request); });
        });
  });
  router.add(service + "Heartbeat", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::HeartbeatRequest>(
        call, [this](const auto& c, const auto& request, const std::string& bytes) {
          if (!cluster_.access().speaks_for(c, request.node_id())) return;
          if (!cluster_.access().charge(c, LimitedCall::kHeartbeat, request.node_id())) return;
          cluster_.at_leader(c, bytes, [this, c, request] { Heartbeat(c, request); });
        });
  });
  router.add(service + "HeartbeatStream",
             [this](const rpc::CallPtr& call) { HeartbeatStream(call); });
  router.add(service + "HealthCheck", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::HealthCheckRequest>(
        call, [this](const auto& c, const auto&, const auto&) { rpc::reply(c, health()); });
  });
}

v1::GetTopologyResponse CoordinatorService::topology(
    const membership::ServiceFilter& services) const {
  v1::GetTopologyResponse response;
  to_proto(cluster_.state().topology(), services, response);
  response.set_leader_id(cluster_.leader().id);
  response.set_age_ms(static_cast<std::uint64_t>(to_ms(cluster_.replica().age())));
  response.set_history(cluster_.history());
  response.set_log_ms(to_ms(cluster_.replica().log_now()));
  return response;
}

rpc::Payload CoordinatorService::topology_bytes(const membership::ServiceFilter& services,
                                                bool fresh) {
  const rlog::Index applied = cluster_.replica().log().applied();
  if (nodes_at_ != applied || nodes_bytes_.size() >= kFiltersKept) nodes_bytes_.clear();
  nodes_at_ = applied;
  const auto [kept, made] = nodes_bytes_.try_emplace(services.text());
  if (made) {
    v1::GetTopologyResponse nodes;
    to_proto(cluster_.state().topology(), services, nodes);
    kept->second = nodes.SerializeAsString();
  }
  // A message is its fields one after another, so the rest of them may follow.
  v1::GetTopologyResponse rest;
  rest.set_leader_id(cluster_.leader().id);
  rest.set_history(cluster_.history());
  rest.set_log_ms(to_ms(cluster_.replica().log_now()));
  if (!fresh) rest.set_age_ms(static_cast<std::uint64_t>(to_ms(cluster_.replica().age())));
  std::string bytes;
  bytes.reserve(kept->second.size() + rest.ByteSizeLong());
  bytes = kept->second;
  rest.AppendToString(&bytes);
  return rpc::payload(std::move(bytes));
}

v1::HealthCheckResponse CoordinatorService::health() const {
  const LeaderView leader = cluster_.leader();
  const membership::Topology& topology = cluster_.state().topology();
  v1::HealthCheckResponse response;
  const cluster::Verdict verdict = cluster_.observer().verdict();
  response.set_healthy(verdict.healthy);
  response.set_reason(verdict.reason);
  response.set_server_id(cluster_.id());
  response.set_process_id(cluster_.process());
  response.set_raft_state(raft_state(leader));
  response.set_raft_term(leader.epoch.value());
  response.set_committed_index(cluster_.replica().log().head_seen().value());
  response.set_applied_index(cluster_.replica().log().applied().value());
  response.set_leader_id(leader.id);
  response.set_leader_address(leader.address);
  response.set_topology_version(topology.version().value());
  response.set_active_nodes(topology.count(membership::NodeState::kActive));
  response.set_suspect_nodes(topology.count(membership::NodeState::kSuspect));
  response.set_down_nodes(topology.count(membership::NodeState::kDown));
  response.set_watch_subscribers(hub_.watchers());
  return response;
}

void CoordinatorService::GetTopology(const rpc::CallPtr& call,
                                     const v1::GetTopologyRequest& request) {
  if (!cluster_.access().charge(call, LimitedCall::kGetTopology, {})) return;
  auto services = membership::ServiceFilter::parse(request.service());
  if (!services) return call->finish(rpc::to_status(services.error()));
  const bool fresh = request.linearizable();
  cluster_.read_much(call, fresh, [this, call, fresh, services = std::move(*services)] {
    call->reply(topology_bytes(services, fresh));
  });
}

void CoordinatorService::WatchTopology(const rpc::CallPtr& call,
                                       const v1::WatchTopologyRequest& request) {
  auto services = membership::ServiceFilter::parse(request.service());
  if (!services) return call->finish(rpc::to_status(services.error()));
  if (!cluster_.access().open_watch(call)) return;
  const std::uint64_t since = cluster_.is_other(request.history()) ? 0 : request.since_version();
  // A client that has seen more than this server must not be taken back: it catches up first.
  const bool ahead = since > cluster_.state().topology().version().value();
  cluster_.read(call, ahead, [this, call, since, services = std::move(*services)] {
    hub_.watch(call, since, services);
  });
}

void CoordinatorService::RegisterNode(const rpc::CallPtr& call,
                                      const v1::RegisterNodeRequest& request) {
  auto spec = to_spec(request.node());
  if (!spec) return call->finish(rpc::to_status(spec.error()));
  cluster_.propose(
      call,
      cluster::ChangeTopology{membership::registration_of(*spec), {Cluster::asked_by(call), {}}},
      [call](const cluster::Answer& answer) {
        v1::RegisterNodeResponse response;
        response.set_topology_version(answer.version.value());
        response.set_already_registered(answer.outcome.already_registered);
        rpc::reply(call, response);
      },
      [this, spec = *spec](const Error& error) {
        return registration_refused(cluster_.state().topology(), spec, error);
      });
}

void CoordinatorService::DeregisterNode(const rpc::CallPtr& call,
                                        const v1::DeregisterNodeRequest& request) {
  cluster_.propose(
      call,
      cluster::ChangeTopology{
          membership::DeregisterNode{
              NodeId(request.node_id()), membership::Generation(request.generation_id()), {}},
          {Cluster::asked_by(call), {}}},
      [call](const cluster::Answer& answer) {
        v1::DeregisterNodeResponse response;
        response.set_topology_version(answer.version.value());
        rpc::reply(call, response);
      });
}

Status CoordinatorService::note(const v1::HeartbeatRequest& beat) {
  const auto reported = to_reported_state(beat.reported_state());
  if (!reported) return reported.error();
  Status noted = cluster_.term().heartbeat(NodeId(beat.node_id()),
                                           membership::Generation(beat.generation_id()), *reported);
  if (noted) {
    cluster_.observer().metrics().heartbeats.add();
    return noted;
  }
  // What was accepted is well-formed. What was not may have been refused for its form.
  if (Status s = membership::validate_node_id(beat.node_id()); !s) return s;
  if (Status s = membership::validate_generation(beat.generation_id()); !s) return s;
  return noted;
}

// One status code stands for "another process has your place" and for "DOWN, register anew"; a
// process that took the one for the other would throw its successor out.
rpc::RpcStatus CoordinatorService::beat_refused(const v1::HeartbeatRequest& beat,
                                                const Error& error) const {
  rpc::RpcStatus status = rpc::to_status(error);
  const membership::NodeEntry* node = cluster_.state().topology().find(NodeId(beat.node_id()));
  status.replaced = error.code == Errc::kConflict && node != nullptr &&
                    node->generation != membership::Generation(beat.generation_id());
  return status;
}

void CoordinatorService::Heartbeat(const rpc::CallPtr& call, const v1::HeartbeatRequest& request) {
  if (const Status s = note(request); !s) return call->finish(beat_refused(request, s.error()));
  const LeaderView leader = cluster_.leader();
  const std::uint64_t version = cluster_.state().topology().version().value();
  v1::HeartbeatResponse response;
  response.set_current_version(version);
  response.set_refresh_required(request.known_version() < version);
  response.set_leader_id(leader.id);
  response.set_leader_address(leader.address);
  response.set_raft_term(leader.epoch.value());
  rpc::reply(call, response);
}

void CoordinatorService::HeartbeatStream(const rpc::CallPtr& call) {
  rpc::Pipeline::run(cluster_.loop(), call, {},
                     [this, call](const std::string& bytes, rpc::Pipeline::Answer answer) {
                       on_batch(call, bytes, std::move(answer));
                     });
}

void CoordinatorService::on_batch(const rpc::CallPtr& call, const std::string& bytes,
                                  rpc::Pipeline::Answer answer) {
  // One message for all, because parsing into it again needs no memory.
  if (!rpc::parse(call, bytes, batch_)) return;
  if (batch_.heartbeats_size() > kBatchBeatsMax) {
    return call->finish(
        {rpc::Code::kInvalidArgument, "heartbeats must be at most 10000 in a message", {}});
  }
  const auto screened = std::make_shared<ScreenedBeats>(cluster_.access(), call, std::move(batch_));
  const MonoTime began = cluster_.loop().now();
  const auto complete = [this, screened, began,
                         answer = std::move(answer)](v1::HeartbeatBatchResponse response) {
    cluster_.observer().heartbeat_answered(cluster_.loop().now() - began);
    screened->complete(response);
    answer(rpc::to_payload(response));
  };
  if (cluster_.term().active()) {
    complete(note(screened->batch()));
    batch_ = screened->take();
    return;
  }
  // T09: a follower's heartbeats reach the leader, or are refused; the stream outlives a leader.
  cluster_.at_leader(
      call, screened->whole() ? bytes : screened->batch().SerializeAsString(),
      [this, screened, complete] { complete(note(screened->batch())); },
      [call, screened, complete](rpc::RpcStatus status, const std::string& own) {
        if (!status.ok()) {
          screened->give_back();
          return call->finish(std::move(status));
        }
        v1::HeartbeatBatchResponse response;
        if (!response.ParseFromString(own)) {
          return call->finish({rpc::Code::kInternal, "the leader's answer cannot be decoded", {}});
        }
        complete(std::move(response));
      });
}

v1::HeartbeatBatchResponse CoordinatorService::note(const v1::HeartbeatBatch& batch) {
  v1::HeartbeatBatchResponse response;
  for (int i = 0; i < batch.heartbeats_size(); ++i) {
    const Status noted = note(batch.heartbeats(i));
    if (noted) continue;
    const rpc::RpcStatus status = beat_refused(batch.heartbeats(i), noted.error());
    v1::HeartbeatRefusal& refusal = *response.add_refused();
    refusal.set_position(static_cast<std::uint32_t>(i));
    refusal.set_code(static_cast<std::int32_t>(status.code));
    refusal.set_message(status.message);
    refusal.set_replaced(status.replaced);
  }
  const LeaderView leader = cluster_.leader();
  response.set_current_version(cluster_.state().topology().version().value());
  response.set_leader_id(leader.id);
  response.set_leader_address(leader.address);
  response.set_raft_term(leader.epoch.value());
  return response;
}

}  // namespace muster::server
