#include "cli/event_text.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster::cli {
namespace {

std::string name(const std::optional<WorkerId>& id) {
  return id ? id->value() : "nobody";
}

std::string epoch(Epoch e) {
  return "epoch " + std::to_string(e.value());
}

struct Details {
  std::string operator()(const LeaderChangedEvent& e) const {
    return name(e.previous_leader) + " → " + name(e.new_leader) + ", " + epoch(e.epoch);
  }
  std::string operator()(const WorkersUpdatedEvent& e) const {
    std::string text = std::to_string(e.workers.size()) + ":";
    for (const WorkerId& worker : e.workers) text += " " + worker.value();
    return text;
  }
  std::string operator()(const ContentionDetectedEvent& e) const {
    return "no heartbeat succeeded for " + format_duration(e.duration) + ", the interval is " +
           format_duration(e.expected);
  }
  std::string operator()(const CircuitBreakerEvent& e) const {
    return std::to_string(e.failure_count) + " failures";
  }
  std::string operator()(const TermBeganEvent& e) const {
    return "this worker leads, " + epoch(e.epoch);
  }
  std::string operator()(const TermEndedEvent& e) const {
    return "this worker no longer leads (" + std::string(to_string(e.reason)) + "), " +
           epoch(e.epoch);
  }
  std::string operator()(const TroubleEvent& e) const {
    return std::string(to_string(e.kind)) + ": " + e.message;
  }
  std::string operator()(const CommandEvent& e) const { return "this worker obeys: " + e.kind; }
};

}  // namespace

std::string format_time(WallTime at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", int(date.year()),
                unsigned(date.month()), unsigned(date.day()), int(time.hours().count()),
                int(time.minutes().count()), int(time.seconds().count()),
                int(time.subseconds().count()));
  return text;
}

std::string event_text(const CoordinatorEvent& event, WallTime at) {
  return format_time(at) + " " + event_name(event) + " " + std::visit(Details{}, event);
}

std::string event_json(const CoordinatorEvent& event, WallTime at) {
  auto json = nlohmann::json::parse(to_json(event));
  json["time"] = to_ms(at);
  return json.dump();
}

}  // namespace muster::cli
