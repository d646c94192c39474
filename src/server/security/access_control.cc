#include "server/security/access_control.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "server/rpc/streams.h"
#include "server/security/subject.h"

namespace muster::server {
namespace {

using security::Role;

/// How long an open call may go on after its certificate has expired by its own date.
constexpr Duration kSweepInterval = 2s;
/// What a client whose call was ended gets to take notice, before the call is cut.
constexpr Duration kCutAfter = 500ms;

/// Looked up once: every call asks.
bool is_stream(security::Call what) {
  static const std::vector<bool> streams = [] {
    std::vector<bool> all;
    for (const auto& row : security::permissions()) {
      all.push_back(rpc::is_stream(std::string(row.name)));
    }
    return all;
  }();
  return streams[static_cast<std::size_t>(what)];
}

/// Of each caller's refused attempts so many are recorded: a flood of them would push out what has
/// been done. Callers beyond the table's share the second rate.
constexpr ClientLimiter::Options kRefusalsRecorded{{10, 20}, {60, 60}, 4096};

/// The servers could not, whatever the client asked.
bool for_want_of_a_leader(const rpc::RpcStatus& status) {
  return status.code == rpc::Code::kUnavailable || !status.leader_address.empty();
}

Error too_often(const std::string& who, const char* what, Duration wait) {
  return {Errc::kThrottled, who + " " + what, wait};
}

const char* words(LimitedCall what) {
  switch (what) {
    case LimitedCall::kHeartbeat:
      return "sends heartbeats too often";
    case LimitedCall::kRegister:
      return "registers too often";
    case LimitedCall::kDeregister:
      return "deregisters too often";
    case LimitedCall::kGetTopology:
      return "reads the topology too often";
    case LimitedCall::kRead:
      return "reads too often";
    case LimitedCall::kWrite:
      return "writes too often, together with all other clients";
  }
  return "sends requests too often";
}

/// Whether it is counted for each node that the client speaks for.
bool for_a_node(LimitedCall what) {
  return what != LimitedCall::kWrite && what != LimitedCall::kRead;
}

/// The label of a metric.
const char* reason(LimitedCall call) {
  switch (call) {
    case LimitedCall::kHeartbeat:
      return "heartbeats";
    case LimitedCall::kRegister:
      return "registrations";
    case LimitedCall::kDeregister:
      return "deregistrations";
    case LimitedCall::kGetTopology:
      return "topology";
    case LimitedCall::kRead:
      return "reads";
    case LimitedCall::kWrite:
      return "writes";
  }
  return "other";
}

}  // namespace

AccessControl::AccessControl(Loop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      refusals_(kRefusalsRecorded, loop.now()),
      sweep_(loop) {
  if (options_.limits) limits_.emplace(*options_.limits, loop_.now());
}

Result<std::shared_ptr<CallOrigin>> AccessControl::identify(const rpc::Call& call) const {
  auto caller = std::make_shared<CallOrigin>();
  caller->host = call.remote();
  caller->forwarded = call.forwarded();
  if (options_.tls == nullptr) return caller;
  if (call.certificate().empty()) return {Errc::kDenied, "no certificate was shown"};
  auto peer = options_.tls->read(call.certificate());
  if (!peer) return peer.error();
  caller->peer = std::move(*peer);
  // Only a server is believed to have asked the others for us.
  caller->forwarded = caller->forwarded && caller->peer->identity.role == Role::kServer;
  return caller;
}

bool AccessControl::admit(const rpc::CallPtr& call) {
  auto caller = identify(*call);
  // Before anything is answered: an answer is there until its client takes it.
  if (!take_place(call, caller ? **caller : CallOrigin{.peer = nullptr, .host = call->remote()})) {
    return false;
  }
  const auto what = security::call_of_method(call->method());
  if (!what) {
    // Not which: a client's own words, sent back, would cost more than they did.
    call->finish({rpc::Code::kUnimplemented, "this server has no such method", {}});
    return false;
  }
  if (!caller) {
    deny(call, caller.error());
    return false;
  }
  if ((*caller)->peer) {
    const Status allowed =
        server::admit(*(*caller)->peer, *what, options_.tls->revocations(), loop_.wall_now());
    if (!allowed) {
      refuse(call, *what, std::move(*caller), allowed.error());
      return false;
    }
  }
  if (options_.audit != nullptr && is_recorded(*what) && !(*caller)->forwarded) {
    record(call);
  }
  call->set_caller(std::move(*caller));
  if (options_.tls != nullptr && is_stream(*what)) follow(call, *what);
  return true;
}

// What was attempted is in the request, which is read for the record's sake.
void AccessControl::refuse(const rpc::CallPtr& call, security::Call what,
                           std::shared_ptr<CallOrigin> caller, const Error& error) {
  const bool recorded = options_.audit != nullptr && !caller->forwarded &&
                        refusals_.bucket(caller->limit_key(""), loop_.now()).try_take(loop_.now());
  if (!recorded) return deny(call, error);
  call->set_caller(std::move(caller));
  record(call);
  call->read(lifetime_.wrap([this, call, what, error](const std::optional<std::string>& request) {
    if (request) call->caller()->subject = subject_of(what, *request);
    deny(call, error);
  }));
}

void AccessControl::decline(const rpc::CallPtr& call, const rpc::RpcStatus& status) {
  const auto what = security::call_of_method(call->method());
  const bool recorded = options_.audit != nullptr && what && is_recorded(*what) &&
                        call->caller() != nullptr && !call->caller()->forwarded;
  if (!recorded) return call->finish(status);
  call->read(lifetime_.wrap([call, what, status](const std::optional<std::string>& request) {
    if (request) call->caller()->subject = subject_of(*what, *request);
    call->finish(status);
  }));
}

void AccessControl::deny(const rpc::CallPtr& call, const Error& error) {
  ++counts_.denied;
  log_info("a call was refused",
           {{"method", call->method()}, {"from", call->remote()}, {"reason", error.message}});
  call->finish(rpc::to_status(error));
}

void AccessControl::follow(const rpc::CallPtr& call, security::Call what) {
  if (!sweep_.armed()) sweep_.arm(kSweepInterval, [this] { recheck(); });
  const rpc::Call* key = call.get();
  lasting_[key] = {call, what};
  call->on_ended(lifetime_.wrap([this, key](const rpc::RpcStatus&) { lasting_.erase(key); }));
}

bool AccessControl::lasts(const std::string& method) {
  const auto what = security::call_of_method(method);
  return what && is_stream(*what);
}

void AccessControl::recheck() {
  sweep_.cancel();
  std::vector<rpc::CallPtr> ended;
  for (const auto& [key, each] : lasting_) {
    const rpc::CallPtr call = each.call.lock();
    if (!call || call->caller() == nullptr || !call->caller()->peer) continue;
    const Status still = server::admit(*call->caller()->peer, each.what,
                                       options_.tls->revocations(), loop_.wall_now());
    if (!still) ended.push_back(call);
  }
  for (const rpc::CallPtr& call : ended) {
    ++counts_.streams_ended;
    log_info("an open call was ended: its certificate is no longer valid",
             {{"method", call->method()}, {"caller", call->caller()->name()}});
    call->finish({rpc::Code::kPermissionDenied,
                  "the certificate of " + call->caller()->name() + " is no longer valid",
                  {}});
  }
  // One who does not read would otherwise keep its call open, with all that was written to it.
  if (!ended.empty()) {
    loop_.at(loop_.now() + kCutAfter, lifetime_.wrap([ended] {
      for (const rpc::CallPtr& call : ended) call->cut();
    }));
  }
  if (!lasting_.empty()) sweep_.arm(kSweepInterval, [this] { recheck(); });
}

bool AccessControl::speaks_for(const rpc::CallPtr& call, const std::string& node_id) {
  if (call->caller() != nullptr) call->caller()->subject = node_id;
  const Status allowed = may_speak_for(call->caller(), node_id);
  if (!allowed) deny(call, allowed.error());
  return allowed.ok();
}

bool AccessControl::registers(const rpc::CallPtr& call, const std::string& node_id,
                              const std::string& address) {
  if (call->caller() != nullptr) call->caller()->subject = node_id;
  const Status allowed = may_register(call->caller(), node_id, address);
  if (!allowed) deny(call, allowed.error());
  return allowed.ok();
}

void AccessControl::count_limited(const char* reason) {
  ++counts_.limited;
  if (options_.on_limited) options_.on_limited(reason);
}

bool AccessControl::limited(const CallOrigin& caller) const {
  return limits_.has_value() && !caller.forwarded;
}

// A server takes only so many calls. Who may make any could take all of them, by beginning calls
// and leaving them so, or by not taking their answers: a place is free when nothing of its call is
// left. Servers pass on what others ask, and have been asked there.
bool AccessControl::take_place(const rpc::CallPtr& call, const CallOrigin& caller) {
  if (!limited(caller) || (caller.peer && caller.peer->identity.role == Role::kServer)) return true;
  const std::string key = caller.limit_key("");
  if (!limits_->open_call(key)) {
    count_limited("calls");
    call->turn_away({rpc::Code::kResourceExhausted,
                     caller.name() + " has as many open calls as the limit allows",
                     {},
                     1s});
    return false;
  }
  call->on_gone(lifetime_.wrap([this, key] { limits_->close_call(key); }));
  return true;
}

bool AccessControl::charge(const rpc::CallPtr& call, LimitedCall what, const std::string& subject) {
  CallOrigin* caller = call->caller();
  if (caller == nullptr) return deny(call, may_speak_for(nullptr, subject).error()), false;
  caller->subject = subject;
  if (!limited(*caller)) return true;
  const std::string key = caller->limit_key(for_a_node(what) ? subject : "");
  if (const auto wait = limits_->take(what, key, loop_.now())) {
    count_limited(reason(what));
    call->finish(rpc::to_status(too_often(caller->name(), words(what), *wait)));
    return false;
  }
  call->on_ended(lifetime_.wrap([this, what, key](const rpc::RpcStatus& status) {
    if (for_want_of_a_leader(status) && limits_) limits_->give_back(what, key, loop_.now());
  }));
  return true;
}

bool AccessControl::open_watch(const rpc::CallPtr& call) {
  const CallOrigin* caller = call->caller();
  if (caller == nullptr) return deny(call, may_speak_for(nullptr, "").error()), false;
  if (!limited(*caller)) return true;
  const std::string key = caller->limit_key("");
  if (!limits_->open_watch(key)) {
    count_limited("watches");
    call->finish({rpc::Code::kResourceExhausted,
                  caller->name() + " has as many open watches as the limit allows",
                  {},
                  1s});
    return false;
  }
  // T17: whatever ends the call, its place is given back.
  call->on_gone(lifetime_.wrap([this, key] { limits_->close_watch(key); }));
  return true;
}

Status AccessControl::check_beat(const rpc::CallPtr& call, const std::string& node_id) {
  const CallOrigin* caller = call->caller();
  if (Status allowed = may_speak_for(caller, node_id); !allowed) {
    ++counts_.denied;
    return allowed;
  }
  if (!limited(*caller)) return Done{};
  const auto wait = limits_->take(LimitedCall::kHeartbeat, caller->limit_key(node_id), loop_.now());
  if (!wait) return Done{};
  count_limited(reason(LimitedCall::kHeartbeat));
  return too_often("node " + node_id, words(LimitedCall::kHeartbeat), *wait);
}

void AccessControl::give_back_beat(const rpc::CallPtr& call, const std::string& node_id) {
  const CallOrigin* caller = call->caller();
  if (caller == nullptr || !limited(*caller)) return;
  limits_->give_back(LimitedCall::kHeartbeat, caller->limit_key(node_id), loop_.now());
}

Status AccessControl::check_write(const rpc::CallPtr& call) {
  const CallOrigin* caller = call->caller();
  if (caller == nullptr) return may_speak_for(nullptr, {});
  if (!limited(*caller)) return Done{};
  const auto wait = limits_->take(LimitedCall::kWrite, caller->limit_key(""), loop_.now());
  if (!wait) return Done{};
  count_limited(reason(LimitedCall::kWrite));
  return too_often(caller->name(), words(LimitedCall::kWrite), *wait);
}

void AccessControl::wrote(const rpc::CallPtr& call, const std::string& subject,
                          const rpc::RpcStatus& status) {
  if (options_.audit == nullptr || call->caller() == nullptr) return;
  audit(*call, subject, status);
}

void AccessControl::use(const RequestLimitOptions& limits) {
  if (!limits_ || limits_->options() == limits) return;
  limits_->use(limits, loop_.now());
  log_info("new limits are in force");
}

void AccessControl::record(const rpc::CallPtr& call) {
  call->on_ended(lifetime_.wrap([this, weak = std::weak_ptr(call)](const rpc::RpcStatus& status) {
    const rpc::CallPtr ended = weak.lock();
    if (!ended || ended->caller() == nullptr) return;
    audit(*ended, ended->caller()->subject, status);
  }));
}

// What was refused for being too many is counted elsewhere: as lines here, a flood of it would push
// out what has been done.
void AccessControl::audit(const rpc::Call& call, const std::string& subject,
                          const rpc::RpcStatus& status) const {
  if (status.code == rpc::Code::kResourceExhausted) return;
  const CallOrigin& who = *call.caller();
  options_.audit->write({loop_.wall_now(), who.name(), who.host, call.method(), subject,
                         options_.position ? options_.position() : AuditLog::Position{},
                         static_cast<int>(status.code), status.message});
}

}  // namespace muster::server
