#include "server/service/cluster.h"

#include <algorithm>
#include <utility>

namespace muster::server {
namespace {

constexpr Duration kForwardTimeout = 10s;
/// How often a call that is held looks for a leader.
constexpr Duration kLookInterval = 50ms;

/// How long a call may be held: its client must hear that nothing was done before it stops
/// listening, because after that it cannot know.
Duration patience(Duration time_left) {
  return std::min(time_left - std::max<Duration>(100ms, time_left / 8), kForwardTimeout);
}

/// Nothing was done, and somebody else may soon be able to.
bool may_pass(const rpc::RpcStatus& status) {
  return status.code == rpc::Code::kUnavailable || !status.leader_address.empty();
}

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
  if (call->forwarded()) return call->finish(not_leading(parts_.leader()));
  pass_on(std::make_shared<Passage>(
      Passage{call, request, std::move(here), parts_.loop.now() + patience(call->time_left())}));
}

void Cluster::pass_on(const std::shared_ptr<const Passage>& passage) {
  if (passage->call->over()) return;
  if (parts_.term.active()) return passage->here();
  ask_leader(passage->call, passage->request,
             lifetime_.wrap([this, passage](rpc::RpcStatus status, std::string answer) {
               if (status.ok()) return passage->call->reply(rpc::payload(std::move(answer)));
               const MonoTime next = parts_.loop.now() + kLookInterval;
               if (!may_pass(status) || next > passage->until) {
                 return passage->call->finish(std::move(status));
               }
               parts_.loop.at(next, lifetime_.wrap([this, passage] { pass_on(passage); }));
             }));
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
