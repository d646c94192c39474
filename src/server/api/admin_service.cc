#include "server/api/admin_service.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "server/api/convert.h"
#include "server/rpc/message.h"
#include "server/security/subject.h"

namespace muster::server {
namespace {

template <typename Response>
std::function<void(const cluster::Answer&)> reply_version(const rpc::CallPtr& call) {
  return [call](const cluster::Answer& answer) {
    Response response;
    response.set_topology_version(answer.version.value());
    rpc::reply(call, response);
  };
}

// What has no subject is no change.
template <typename Request>
bool charge(AccessControl& access, const rpc::CallPtr& call, const Request& request) {
  if constexpr (requires { subject(request); }) {
    return access.charge(call, LimitedCall::kWrite, subject(request));
  } else {
    return true;
  }
}

}  // namespace

void AdminService::add_to(rpc::Router& router) {
  const std::string service = "/muster.v1.AdminService/";
  // All of it is for the leader: what an operator asks for is neither stale nor done elsewhere.
  const auto add = [&]<typename Request>(const std::string& method, auto handle, const Request&) {
    router.add(method, [this, handle](const rpc::CallPtr& call) {
      rpc::read_request<Request>(call, [this, handle](const auto& c, const Request& request,
                                                      const std::string& bytes) {
        if (!charge(cluster_.access(), c, request)) return;
        cluster_.at_leader(c, bytes, [this, handle, c, request] { (this->*handle)(c, request); });
      });
    });
  };
  add(service + "DrainNode", &AdminService::DrainNode, v1::DrainNodeRequest{});
  add(service + "SetHashRing", &AdminService::SetHashRing, v1::SetHashRingRequest{});
  add(service + "ListServers", &AdminService::ListServers, v1::ListServersRequest{});
  add(service + "RemoveServer", &AdminService::RemoveServer, v1::RemoveServerRequest{});
  add(service + "TransferLeadership", &AdminService::TransferLeadership,
      v1::TransferLeadershipRequest{});
  // Any server can read the log.
  router.add(service + "Backup", [this](const rpc::CallPtr& call) {
    rpc::read_opening<v1::BackupRequest>(
        call, [this](const auto& c, const auto&, const auto&) { actions_.backup(c); });
  });
  router.add(service + "Move", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::MoveRequest>(
        call, [this](const auto& c, const v1::MoveRequest& request, const auto&) {
          if (!charge(cluster_.access(), c, request)) return;
          cluster_.only_at_leader(c, [this, c, request] { Move(c, request); });
        });
  });
  add("/muster.v1.PeerService/Announce", &AdminService::Announce, v1::AnnounceRequest{});
}

void AdminService::DrainNode(const rpc::CallPtr& call, const v1::DrainNodeRequest& request) {
  const NodeId id(request.node_id());
  std::function<void(const cluster::Answer&)> done = reply_version<v1::DrainNodeResponse>(call);
  // The topology tells of the nodes that it holds only.
  if (request.cancel() && cluster_.state().topology().find(id) == nullptr) {
    const cluster::Note note{cluster::DecisionKind::kDrain, id.value(), cluster::Why::kAsked, {},
                             Cluster::asked_by(call),       {}};
    done = [this, note, done](const cluster::Answer& answer) {
      cluster_.propose(note, [done, answer](const Result<cluster::Answer>&) { done(answer); });
    };
  }
  const auto propose = [this, call, &done](membership::Command command) {
    cluster_.propose(
        call, cluster::ChangeTopology{std::move(command), {Cluster::asked_by(call), {}}}, done);
  };
  // While a server of 0.1 is there, a drain is what it was then.
  const auto level = cluster::level(cluster::ChangeTopology{membership::SetDrain{}});
  if (!cluster::understood_by_all(level, cluster_.state().servers(), reachability_,
                                  cluster_.loop().now())) {
    return propose(membership::Drain{NodeId(request.node_id()), request.cancel(), {}});
  }
  propose(membership::SetDrain{NodeId(request.node_id()), !request.cancel(), {}});
}

void AdminService::SetHashRing(const rpc::CallPtr& call, const v1::SetHashRingRequest& request) {
  cluster_.propose(call,
                   cluster::ChangeTopology{membership::SetRingConfig{to_ring(request.config()), {}},
                                           {Cluster::asked_by(call), {}}},
                   reply_version<v1::SetHashRingResponse>(call));
}

void AdminService::ListServers(const rpc::CallPtr& call, const v1::ListServersRequest&) {
  v1::ListServersResponse response;
  response.set_engine(common_.engine);
  response.set_crl_option(common_.crl_option);
  for (const auto& [id, server] : cluster_.state().servers()) {
    v1::ServerInfo& info = *response.add_servers();
    info.set_id(id);
    info.set_address(server.address);
    info.set_leader(id == own_id_);
    info.set_role(id == own_id_ ? "leader"
                                : role_of(reachability_.presence(id, cluster_.loop().now())));
    info.set_version(server.version);
    info.set_announced_at(to_ms(cluster_.state().topology().label(server.announced_at)));
    const Duration silence = reachability_.silence(id, cluster_.loop().now());
    info.set_silent_ms(id == own_id_ ? 0 : static_cast<std::uint64_t>(to_ms(silence)));
    info.set_command_level(server.level);
  }
  rpc::reply(call, response);
}

void AdminService::RemoveServer(const rpc::CallPtr& call, const v1::RemoveServerRequest& request) {
  const std::string id = request.id();
  if (id == own_id_) {
    return call->finish(
        {rpc::Code::kFailedPrecondition, "this server leads; transfer the leadership first", {}});
  }
  // A server that runs would lose its member of the engine, or announce itself again.
  if (Status gone = is_gone(id); !gone) return call->finish(rpc::to_status(gone.error()));
  if (!actions_.remove_member) return forget(call, id, false);
  actions_.remove_member(id, [this, call, id](const Status& removed) {
    // One that never was a member, or was removed before, is still to be forgotten.
    if (!removed && !removed.is(Errc::kNotFound)) {
      return call->finish(rpc::to_status(removed.error()));
    }
    forget(call, id, removed.ok());
  });
}

void AdminService::forget(const rpc::CallPtr& call, const std::string& id, bool was_member) {
  // A member that has never announced itself is removed all the same.
  if (was_member && cluster_.state().server(id) == nullptr) {
    return rpc::reply(call, v1::RemoveServerResponse{});
  }
  cluster_.propose(call, cluster::ForgetServer{id, {}}, [this, call, id](const cluster::Answer&) {
    reachability_.forget(id);
    applied_.erase(id);
    rpc::reply(call, v1::RemoveServerResponse{});
  });
}

Status AdminService::is_gone(const std::string& id) const {
  const MonoTime now = cluster_.loop().now();
  const cluster::Presence presence = reachability_.presence(id, now);
  if (cluster_.state().server(id) == nullptr || presence == cluster::Presence::kAbsent) {
    return Done{};
  }
  const auto silence = std::chrono::floor<std::chrono::seconds>(reachability_.silence(id, now));
  const std::string heard = presence == cluster::Presence::kPresent
                                ? " was heard " + format_duration(silence) + " ago"
                                : " may run: " + own_id_ + " has just begun to lead";
  return {Errc::kConflict, "server " + id + heard +
                               "; stop it first, and remove it when it has been silent for " +
                               format_duration(cluster::kAbsentAfter)};
}

Status AdminService::may_lead(const std::string& id) const {
  if (id == own_id_) return {Errc::kConflict, "server " + id + " leads already"};
  if (cluster_.state().server(id) == nullptr) {
    return {Errc::kNotFound, "no server " + id + " has announced itself"};
  }
  const MonoTime now = cluster_.loop().now();
  if (reachability_.presence(id, now) == cluster::Presence::kPresent) return Done{};
  const auto silence = std::chrono::floor<std::chrono::seconds>(reachability_.silence(id, now));
  return {Errc::kConflict, "server " + id + " has been silent for " + format_duration(silence) +
                               " and would not take over; start it first, or name another server"};
}

void AdminService::TransferLeadership(const rpc::CallPtr& call,
                                      const v1::TransferLeadershipRequest& request) {
  if (!request.to().empty()) {
    if (Status fit = may_lead(request.to()); !fit) {
      return call->finish(rpc::to_status(fit.error()));
    }
  }
  v1::TransferLeadershipResponse response;
  response.set_from(own_id_);
  rpc::reply(call, response);
  actions_.step_down(request.to().empty() ? std::nullopt : std::optional(WorkerId(request.to())),
                     "a transfer was requested by " + Cluster::asked_by(call));
}

void AdminService::Move(const rpc::CallPtr& call, const v1::MoveRequest& request) {
  actions_.move(request.engine(), [call](const Result<rlog::Index>& sealed) {
    if (!sealed) return call->finish(rpc::to_status(sealed.error()));
    v1::MoveResponse response;
    response.set_sealed_index(sealed->value());
    rpc::reply(call, response);
  });
}

void AdminService::Announce(const rpc::CallPtr& call, const v1::AnnounceRequest& request) {
  const CallOrigin* caller = call->caller();
  if (caller != nullptr && caller->peer && caller->peer->identity.id != request.id()) {
    return call->finish(
        {rpc::Code::kPermissionDenied,
         "the certificate is of " + caller->name() + " and cannot announce server " + request.id(),
         {}});
  }
  const auto answer = [this, call] {
    v1::AnnounceResponse response;
    response.set_raft_term(cluster_.leader().epoch.value());
    for (const auto& [id, sighting] : sightings()) {
      v1::ServerSighting& out = *response.add_servers();
      out.set_id(id);
      out.set_silent_ms(static_cast<std::uint64_t>(to_ms(sighting.ago)));
      out.set_applied_index(sighting.applied);
    }
    rpc::reply(call, response);
  };

  const std::uint64_t level = std::max<std::uint64_t>(request.command_level(), 1);
  const cluster::AnnounceServer said{request.id(), request.address(), request.version(), level, {}};
  const cluster::ServerEntry* known = cluster_.state().server(request.id());
  const auto heard = [this, id = request.id(), applied = request.applied_index()] {
    reachability_.heard(id, cluster_.loop().now());
    applied_[id] = applied;
  };
  if (known != nullptr) heard();
  if (known != nullptr && cluster::same(*known, said)) return answer();
  cluster_.propose(call, said, [heard, answer](const cluster::Answer&) {
    heard();
    answer();
  });
}

std::map<std::string, Sighting> AdminService::sightings() const {
  std::map<std::string, Sighting> all;
  for (const auto& [id, server] : cluster_.state().servers()) {
    const auto applied = applied_.find(id);
    all[id] = {reachability_.silence(id, cluster_.loop().now()),
               applied == applied_.end() ? 0 : applied->second};
  }
  all[own_id_] = {0s, cluster_.replica().log().applied().value()};
  return all;
}

}  // namespace muster::server
