#include "server/api/cluster.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "server/security/call_origin.h"

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

/// Nothing was done, and another server may soon be able to.
bool may_pass(const rpc::RpcStatus& status) {
  return status.code == rpc::Code::kUnavailable || !status.leader_address.empty();
}

/// A refusal by a server that does not lead and may not pass the call on.
rpc::RpcStatus not_leading(const LeaderView& leader) {
  if (leader.self || leader.address.empty()) {
    return {rpc::Code::kUnavailable, "no server leads at this moment; try again", {}};
  }
  return {rpc::Code::kFailedPrecondition,
          "this server does not lead; ask " + leader.id + " at " + leader.address, leader.address};
}

Status room_for(const cluster::StorePut& put, const cluster::VersionedKv& kv) {
  if (kv.bytes() + put.key.size() + put.value.size() <= cluster::kStoreBytesMax) return Done{};
  return {Errc::kThrottled, "the store is full (256 MiB); remove keys that are not needed"};
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
  at_leader(call, request, std::move(here), [call](rpc::RpcStatus status, std::string answer) {
    if (status.ok()) return call->reply(rpc::payload(std::move(answer)));
    call->finish(std::move(status));
  });
}

void Cluster::at_leader(const rpc::CallPtr& call, std::string request, std::function<void()> here,
                        Answered done) {
  if (parts_.term.active()) return here();
  if (call->forwarded()) return done(not_leading(parts_.leader()), {});
  forward(std::make_shared<ForwardedCall>(
      ForwardedCall{call, std::move(request), std::move(here), std::move(done),
                    parts_.loop.now() + patience(call->time_left())}));
}

void Cluster::forward(const std::shared_ptr<const ForwardedCall>& waiting) {
  if (waiting->call->over()) return;
  if (parts_.term.active()) return waiting->here();
  ask_leader(waiting->call, waiting->request,
             lifetime_.wrap([this, waiting](rpc::RpcStatus status, std::string answer) {
               const MonoTime next = parts_.loop.now() + kLookInterval;
               if (status.ok() || !may_pass(status) || next > waiting->until) {
                 return waiting->done(std::move(status), std::move(answer));
               }
               parts_.loop.at(next, lifetime_.wrap([this, waiting] { forward(waiting); }));
             }));
}

void Cluster::only_at_leader(const rpc::CallPtr& call, const std::function<void()>& here) {
  if (parts_.term.active()) return here();
  call->finish(not_leading(parts_.leader()));
}

void Cluster::ask_leader(const rpc::CallPtr& call, std::string request, Answered done) {
  const LeaderView leader = parts_.leader();
  if (call->forwarded() || leader.self || leader.address.empty()) {
    return done(not_leading(leader), {});
  }
  parts_.peers.call_peer(
      leader.address, call->method(), std::move(request),
      std::min(call->time_left(), kForwardTimeout), std::move(done),
      {{rpc::kRequestIdKey, request_id(call)}, {rpc::kCallerKey, asked_by(call)}});
}

void Cluster::ask_leader(const std::string& method, std::string request, Duration timeout,
                         Answered done) {
  const LeaderView leader = parts_.leader();
  if (leader.self || leader.address.empty()) {
    return done({rpc::Code::kUnavailable, not_leading(leader).message, {}}, {});
  }
  parts_.peers.call_peer(leader.address, method, std::move(request), timeout, std::move(done));
}

std::string Cluster::asked_by(const rpc::CallPtr& call) {
  // Whom another server names, it has looked at itself. Anybody can say that a call was passed on;
  // access control knows whether a server did.
  if (call->caller() != nullptr && call->caller()->forwarded) {
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

void Cluster::propose(const cluster::Command& command, Callback<cluster::Answer> done) {
  if (Status s = cluster::validate(command); !s) return done(s.error());
  if (const auto* change = std::get_if<cluster::ChangeTopology>(&command)) {
    if (Status s = state().topology().may_propose(change->command); !s) return done(s.error());
  }
  if (const auto* put = std::get_if<cluster::StorePut>(&command)) {
    if (Status s = room_for(*put, state().kv()); !s) return done(s.error());
  }
  parts_.replica.propose(command, std::move(done));
}

void Cluster::propose(const rpc::CallPtr& call, const cluster::Command& command,
                      std::function<void(const cluster::Answer&)> done,
                      const std::function<rpc::RpcStatus(const Error&)>& refused) {
  std::string id = log_enabled(LogLevel::kDebug) ? request_id(call) : std::string();
  propose(command, [call, done = std::move(done), refused, id = std::move(id),
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
