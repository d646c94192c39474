#include "server/api/observe_service.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "server/api/convert.h"
#include "server/rpc/message.h"

namespace muster::server {
namespace {

constexpr std::size_t kDecisionsMax = 1000;

std::uint64_t ms(Duration d) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_ms(d)));
}

void write_decision(const cluster::Decision& d, v1::DecisionRecord& out) {
  out.set_seq(d.seq);
  out.set_at(to_ms(d.at));
  out.set_kind(to_string(d.kind));
  out.set_subject(d.subject);
  out.set_from(d.from);
  out.set_to(d.to);
  out.set_cause(to_string(d.why));
  out.set_text(cluster::sentence(d));
  out.set_asked_by(d.asked_by);
  out.set_epoch(d.epoch);
  if (!d.cause) return;
  out.set_last_heartbeat_at(to_ms(d.cause->last_heartbeat_at));
  out.set_silence_ms(ms(d.cause->silence));
  out.set_suspect_after_ms(ms(d.cause->timeouts.suspect_after));
  out.set_down_after_ms(ms(d.cause->timeouts.down_after));
  out.set_damped(d.cause->timeouts.damped);
  out.set_listened_ms(ms(d.cause->listened));
  out.set_grace_ms(ms(d.cause->grace));
  out.set_down_allowed(d.cause->down_allowed);
  out.set_down_in_use(d.cause->down_in_use);
}

}  // namespace

void ObserveService::add_to(rpc::Router& router) {
  const std::string service = "/muster.v1.ObserveService/";
  router.add(service + "Explain", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::ExplainRequest>(
        call, [this](const auto& c, const auto& request, const auto&) { Explain(c, request); });
  });
  router.add(service + "SetLogLevel", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::SetLogLevelRequest>(
        call, [this](const auto& c, const auto& request, const auto&) { SetLogLevel(c, request); });
  });
}

void ObserveService::Explain(const rpc::CallPtr& call, const v1::ExplainRequest& request) {
  // The answer must hold what was acknowledged before: "why is it DOWN" is asked right after.
  cluster_.read(call, true, [this, call, request] {
    const cluster::DecisionLog& log = cluster_.state().decisions();
    const std::size_t limit = request.limit() == 0
                                  ? kDecisionsMax
                                  : std::min<std::size_t>(request.limit(), kDecisionsMax);
    std::vector<cluster::DecisionLog::Entry> found = request.subject().empty()
                                                         ? log.after(request.since(), limit)
                                                         : log.about(request.subject());
    if (found.size() > limit) found.erase(found.begin(), found.end() - static_cast<long>(limit));
    v1::ExplainResponse response;
    for (const auto& entry : found) write_decision(*entry, *response.add_decisions());
    response.set_newest(log.newest());
    response.set_topology_version(cluster_.state().topology().version().value());
    const membership::NodeEntry* node = cluster_.state().topology().find(NodeId(request.subject()));
    if (node != nullptr) {
      to_proto(*node, cluster_.state().topology(), *response.mutable_node());
    }
    rpc::reply(call, response);
  });
}

void ObserveService::SetLogLevel(const rpc::CallPtr& call, const v1::SetLogLevelRequest& request) {
  if (call->caller() != nullptr) call->caller()->subject = request.level();
  const auto level = parse_log_level(request.level());
  if (!level) return call->finish(rpc::to_status(level.error()));
  v1::SetLogLevelResponse response;
  response.set_previous(to_string(log_level()));
  set_log_level(*level);
  log_warn("log level changed", {{"level", request.level()}, {"by", Cluster::asked_by(call)}});
  rpc::reply(call, response);
}

}  // namespace muster::server
