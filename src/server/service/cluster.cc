#include "server/service/cluster.h"

#include <algorithm>
#include <utility>

namespace muster::server {
namespace {

constexpr Duration kForwardTimeout = 10s;

/// A refusal by a server that does not lead and may not pass the call on.
rpc::RpcStatus not_leading(const LeaderView& leader) {
  if (leader.self || leader.address.empty()) {
    return {rpc::Code::kUnavailable, "nobody leads at this moment; try again", {}};
  }
  return {rpc::Code::kFailedPrecondition,
          "this server does not lead; ask " + leader.id + " at " + leader.address, leader.address};
}

}  // namespace

void Cluster::at_leader(const rpc::CallPtr& call, const std::string& request,
                        std::function<void()> here) {
  if (parts_.term.active()) return here();
  ask_leader(call, request, [call](rpc::RpcStatus status, std::string answer) {
    if (!status.ok()) return call->finish(std::move(status));
    call->reply(rpc::payload(std::move(answer)));
  });
}

void Cluster::only_at_leader(const rpc::CallPtr& call, const std::function<void()>& here) {
  if (parts_.term.active()) return here();
  call->finish(not_leading(parts_.leader()));
}

void Cluster::ask_leader(const rpc::CallPtr& call, std::string request,
                         std::function<void(rpc::RpcStatus, std::string)> done) {
  const LeaderView leader = parts_.leader();
  if (call->forwarded() || leader.self || leader.address.empty()) {
    return done(not_leading(leader), {});
  }
  parts_.peers.call_peer(leader.address, call->method(), std::move(request),
                         std::min(call->time_left(), kForwardTimeout), std::move(done));
}

void Cluster::propose(const rpc::CallPtr& call, const cluster::Command& command,
                      std::function<void(const cluster::Answer&)> done,
                      const std::function<rpc::RpcStatus(const Error&)>& refused) {
  if (Status s = cluster::validate(command); !s) return call->finish(rpc::to_status(s.error()));
  parts_.replica.propose(
      command, [call, done = std::move(done), refused](const Result<cluster::Answer>& answer) {
        if (answer) return done(*answer);
        const Error& error = answer.error();
        call->finish(refused ? refused(error) : rpc::to_status(error));
      });
}

void Cluster::read(const rpc::CallPtr& call, bool fresh, std::function<void()> then) {
  if (!fresh) return then();
  parts_.replica.barrier([call, then = std::move(then)](const Status& status) {
    if (!status) return call->finish(rpc::to_status(status.error()));
    then();
  });
}

}  // namespace muster::server
