#include "coordinator/events.h"

#include <nlohmann/json.hpp>

namespace muster {
namespace {

using Json = nlohmann::json;

Json name_or_null(const std::optional<WorkerId>& id) {
  return id ? Json(id->value()) : Json(nullptr);
}

Json ids(const std::vector<WorkerId>& workers) {
  Json list = Json::array();
  for (const WorkerId& worker : workers) list.push_back(worker.value());
  return list;
}

struct Payload {
  Json operator()(const LeaderChangedEvent& e) const {
    return {{"namespace", e.name_space},
            {"previousLeader", name_or_null(e.previous_leader)},
            {"newLeader", name_or_null(e.new_leader)},
            {"epoch", e.epoch.value()}};
  }
  Json operator()(const WorkersUpdatedEvent& e) const {
    return {{"namespace", e.name_space}, {"workers", ids(e.workers)}};
  }
  Json operator()(const ContentionDetectedEvent& e) const {
    return {{"namespace", e.name_space},
            {"duration", to_ms(e.duration)},
            {"expected", to_ms(e.expected)},
            {"ratio", e.ratio}};
  }
  Json operator()(const CircuitBreakerEvent& e) const {
    return {{"namespace", e.name_space}, {"failureCount", e.failure_count}};
  }
  Json operator()(const TermBeganEvent& e) const {
    return {{"namespace", e.name_space}, {"epoch", e.epoch.value()}};
  }
  Json operator()(const TermEndedEvent& e) const {
    return {
        {"namespace", e.name_space}, {"epoch", e.epoch.value()}, {"reason", to_string(e.reason)}};
  }
  Json operator()(const TroubleEvent& e) const {
    return {{"namespace", e.name_space}, {"kind", to_string(e.kind)}, {"message", e.message}};
  }
  Json operator()(const CommandEvent& e) const {
    return {{"namespace", e.name_space}, {"id", e.id}, {"kind", e.kind}};
  }
};

struct Name {
  std::string operator()(const LeaderChangedEvent&) const { return "leader:changed"; }
  std::string operator()(const WorkersUpdatedEvent&) const { return "workers:updated"; }
  std::string operator()(const ContentionDetectedEvent&) const { return "contention:detected"; }
  std::string operator()(const CircuitBreakerEvent& e) const {
    return std::string("circuitBreaker:") + to_string(e.state);
  }
  std::string operator()(const TermBeganEvent&) const { return "term:began"; }
  std::string operator()(const TermEndedEvent&) const { return "term:ended"; }
  std::string operator()(const TroubleEvent&) const { return "trouble"; }
  std::string operator()(const CommandEvent&) const { return "command"; }
};

}  // namespace

const char* to_string(TroubleEvent::Kind kind) {
  switch (kind) {
    case TroubleEvent::Kind::kDuplicateWorker:
      return "duplicate-worker";
    case TroubleEvent::Kind::kStateDamaged:
      return "state-damaged";
    case TroubleEvent::Kind::kUnsafeStore:
      return "unsafe-store";
    case TroubleEvent::Kind::kTimingsDiffer:
      return "timings-differ";
    case TroubleEvent::Kind::kPluginFailed:
      return "plugin-failed";
    case TroubleEvent::Kind::kPluginStalled:
      return "plugin-stalled";
    case TroubleEvent::Kind::kBadControl:
      return "bad-control";
  }
  return "unknown";
}

std::string event_name(const CoordinatorEvent& event) {
  return std::visit(Name{}, event);
}

std::string to_json(const CoordinatorEvent& event) {
  Json json = std::visit(Payload{}, event);
  json["event"] = event_name(event);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace muster
