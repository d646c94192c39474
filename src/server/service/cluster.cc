#include "server/service/cluster.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

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

/// Ids and names of others go into logs and metadata: letters that need no quoting, and not many.
std::string printable(std::string text) {
  constexpr std::size_t kTextMax = 128;
  if (text.size() > kTextMax) text.resize(kTextMax);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < 0x20 || c == 0x7F; }, '?');
  return text;
}

void log_outcome(const std::string& request, const char* command, const std::string& method,
                 const Result<cluster::Answer>& answer) {
  log_debug("request settled",
            {{"request", request},
             {"method", method},
             {"command", command},
             {"index", answer ? std::to_string(answer->index) : std::string("none")},
             {"outcome", answer ? std::string("applied") : answer.error().message}});
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
  parts_.rpc.call_peer(leader.address, call->method(), std::move(request),
                       std::min(call->time_left(), kForwardTimeout), std::move(done),
                       {{rpc::kRequestIdKey, request_id(call)}, {rpc::kCallerKey, asked_by(call)}});
}

std::string Cluster::asked_by(const rpc::CallPtr& call) {
  // Whom another server names, it has looked at itself.
  if (call->forwarded()) {
    if (std::string sender = printable(call->metadata(rpc::kCallerKey)); !sender.empty()) {
      return sender;
    }
  }
  return call->caller() == nullptr ? call->remote() : call->caller()->name();
}

std::string Cluster::request_id(const rpc::CallPtr& call) {
  std::string given = printable(call->metadata(rpc::kRequestIdKey));
  return given.empty() ? "r" + std::to_string(++requests_) : given;
}

void Cluster::propose(const rpc::CallPtr& call, const cluster::Command& command,
                      std::function<void(const cluster::Answer&)> done,
                      const std::function<rpc::RpcStatus(const Error&)>& refused) {
  if (Status s = cluster::validate(command); !s) return call->finish(rpc::to_status(s.error()));
  std::string id = log_enabled(LogLevel::kDebug) ? request_id(call) : std::string();
  parts_.replica.propose(command,
                         [call, done = std::move(done), refused, id = std::move(id),
                          what = cluster::name(command)](const Result<cluster::Answer>& answer) {
                           if (!id.empty()) log_outcome(id, what, call->method(), answer);
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

void Cluster::read_much(const rpc::CallPtr& call, bool fresh, std::function<void()> then) {
  read(call, fresh,
       [this, call, then = std::move(then)]() mutable { lane_.add(call, std::move(then)); });
}

}  // namespace muster::server
