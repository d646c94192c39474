#include "candidate/telemetry.h"

#include <nlohmann/json.hpp>

#include "base/log.h"

namespace muster::telemetry {
namespace {

using Json = nlohmann::json;

Json name_or_null(const std::optional<WorkerId>& id) {
  return id ? Json(id->value()) : Json(nullptr);
}

struct Name {
  const char* operator()(const BecameLeader&) const { return "became_leader"; }
  const char* operator()(const LostLeadership&) const { return "lost_leadership"; }
  const char* operator()(const LeaderDown&) const { return "leader_down"; }
  const char* operator()(const LeaderAlive&) const { return "leader_alive"; }
  const char* operator()(const LeaderChanged&) const { return "leader_changed"; }
  const char* operator()(const ElectionCheck&) const { return "election_check"; }
  const char* operator()(const ElectionStarted&) const { return "election_started"; }
  const char* operator()(const StateChanged&) const { return "state_changed"; }
  const char* operator()(const Flapping&) const { return "flapping"; }
  const char* operator()(const CommandAccepted&) const { return "command"; }
  const char* operator()(const Trouble&) const { return "trouble"; }
};

struct Payload {
  Json operator()(const BecameLeader& e) const { return {{"epoch", e.epoch.value()}}; }
  Json operator()(const LostLeadership& e) const {
    Json json = {{"epoch", e.epoch.value()}, {"reason", muster::to_string(e.reason)}};
    if (!e.detail.empty()) json["detail"] = e.detail;
    return json;
  }
  Json operator()(const LeaderDown& e) const {
    return {{"former_leader", e.former_leader.value()},
            {"epoch", e.epoch.value()},
            {"cause", muster::to_string(e.cause)}};
  }
  Json operator()(const LeaderAlive& e) const {
    return {{"leader", e.leader.value()}, {"epoch", e.epoch.value()}};
  }
  Json operator()(const LeaderChanged& e) const {
    return {{"previous_leader", name_or_null(e.previous)},
            {"current_leader", name_or_null(e.current)},
            {"epoch", e.epoch.value()}};
  }
  Json operator()(const ElectionCheck& e) const {
    return {{"current_leader", name_or_null(e.current_leader)}};
  }
  Json operator()(const ElectionStarted&) const { return Json::object(); }
  Json operator()(const StateChanged& e) const {
    return {{"from", muster::to_string(e.from)}, {"to", muster::to_string(e.to)}};
  }
  Json operator()(const Flapping& e) const {
    return {{"short_terms", e.short_terms}, {"backoff_ms", to_ms(e.backoff)}};
  }
  Json operator()(const CommandAccepted& e) const { return {{"id", e.id}, {"kind", e.kind}}; }
  Json operator()(const Trouble& e) const {
    return {{"kind", to_string(e.kind)}, {"message", e.message}};
  }
};

struct Level {
  LogLevel operator()(const LostLeadership&) const { return LogLevel::kWarn; }
  LogLevel operator()(const LeaderDown&) const { return LogLevel::kWarn; }
  LogLevel operator()(const Flapping&) const { return LogLevel::kWarn; }
  LogLevel operator()(const Trouble&) const { return LogLevel::kError; }
  LogLevel operator()(const ElectionCheck&) const { return LogLevel::kDebug; }
  template <typename T>
  LogLevel operator()(const T&) const {
    return LogLevel::kInfo;
  }
};

struct Counter {
  Metrics& metrics;
  void operator()(const BecameLeader&) const { ++metrics.became_leader; }
  void operator()(const LostLeadership& e) const { ++metrics.lost_leadership[e.reason]; }
  void operator()(const LeaderDown& e) const { ++metrics.leader_down[e.cause]; }
  void operator()(const LeaderAlive&) const {}
  void operator()(const LeaderChanged&) const { ++metrics.leader_changes; }
  void operator()(const ElectionCheck&) const { ++metrics.election_checks; }
  void operator()(const ElectionStarted&) const { ++metrics.elections_started; }
  void operator()(const StateChanged&) const {}
  void operator()(const Flapping&) const {}
  void operator()(const CommandAccepted&) const { ++metrics.commands; }
  void operator()(const Trouble&) const { ++metrics.troubles; }
};

}  // namespace

const char* to_string(Trouble::Kind kind) {
  switch (kind) {
    case Trouble::Kind::kUnsafeStore:
      return "unsafe-store";
    case Trouble::Kind::kDuplicateNode:
      return "duplicate-node";
    case Trouble::Kind::kStateDamaged:
      return "state-damaged";
    case Trouble::Kind::kWorkStuck:
      return "work-stuck";
    case Trouble::Kind::kBadControl:
      return "bad-control";
    case Trouble::Kind::kStoreUnreachable:
      return "store-unreachable";
  }
  return "unknown";
}

const char* event_name(const Event& event) {
  return std::visit(Name{}, event.what);
}

std::string to_json(const Event& event) {
  Json json = std::visit(Payload{}, event.what);
  json["event"] = event_name(event);
  json["time"] = to_ms(event.time);
  json["node"] = event.node.value();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_log(const Event& event, const std::string& name_space) {
  const Json payload = std::visit(Payload{}, event.what);
  LogLine line{std::visit(Level{}, event.what),
               event_name(event),
               {{"namespace", name_space}, {"node", event.node.value()}}};
  for (const auto& [key, value] : payload.items()) {
    line.fields.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  log(line);
}

void Metrics::count(const Event& event) {
  std::visit(Counter{*this}, event.what);
}

}  // namespace muster::telemetry
