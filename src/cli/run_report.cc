#include "cli/run_report.h"

#include <utility>

#include "base/log.h"
#include "cli/topology_text.h"
#include "platform/system_clock.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string epoch(Epoch e) {
  return "epoch " + std::to_string(e.value());
}

/// What an event means to people; empty for those that are for programs only.
struct Sentence {
  const std::string& name;
  const WorkerId& node;

  std::string operator()(const telemetry::BecameLeader& e) const {
    return node.value() + " leads " + name + ", " + epoch(e.epoch);
  }
  std::string operator()(const telemetry::LostLeadership& e) const {
    return node.value() + " no longer leads " + name + " (" + muster::to_string(e.reason) + "), " +
           epoch(e.epoch);
  }
  std::string operator()(const telemetry::LeaderChanged& e) const {
    if (!e.current || *e.current == node) return "";
    return "waiting: " + e.current->value() + " leads " + name + ", " + epoch(e.epoch);
  }
  std::string operator()(const telemetry::LeaderDown& e) const {
    return e.former_leader.value() + " no longer leads " + name + " (" +
           muster::to_string(e.cause) + ")";
  }
  std::string operator()(const telemetry::Flapping& e) const {
    return std::to_string(e.short_terms) + " terms in a row were short; not campaigning";
  }
  std::string operator()(const telemetry::CommandAccepted& e) const {
    return "an operator asked to " + e.kind;
  }
  std::string operator()(const telemetry::Trouble& e) const { return e.message; }
  std::string operator()(const telemetry::LeaderAlive&) const { return ""; }
  std::string operator()(const telemetry::ElectionCheck&) const { return ""; }
  std::string operator()(const telemetry::ElectionStarted&) const { return ""; }
  std::string operator()(const telemetry::StateChanged&) const { return ""; }
};

}  // namespace

RunReport::RunReport(Terminal& terminal, std::string name, bool json)
    : terminal_(terminal), name_(std::move(name)), json_(json) {
  if (!json_) return;
  set_log_sink(
      [&terminal = terminal_](const LogLine& line) {
        Json each = {{"event", "log"},
                     {"time", to_ms(system_wall_now())},
                     {"level", to_string(line.level)},
                     {"message", line.message}};
        for (const auto& [key, value] : line.fields) each["fields"][std::string(key)] = value;
        terminal.note(dump(each) + "\n");
      },
      LogLevel::kWarn);
}

RunReport::~RunReport() {
  if (json_) set_log_sink({});
}

void RunReport::event(const telemetry::Event& event) {
  if (std::holds_alternative<telemetry::BecameLeader>(event.what)) ended_.clear();
  if (!json_) return say(std::visit(Sentence{name_, event.node}, event.what));
  terminal_.note(telemetry::to_json(event) + "\n");
}

void RunReport::child_started(const std::string& child, pid_t pid) {
  if (json_) return print({{"event", "child_started"}, {"child", child}, {"pid", pid}});
  const auto before = ended_.find(child);
  if (before == ended_.end()) return;
  say(child + ": " + before->second + "; started again");
  ended_.erase(before);
}

void RunReport::child_ended(const std::string& child, const std::string& how) {
  if (json_) return print({{"event", "child_ended"}, {"child", child}, {"how", how}});
  ended_.insert_or_assign(child, how);
}

void RunReport::child_left(const std::string& child, pid_t pid) {
  if (json_) return print({{"event", "child_left"}, {"child", child}, {"pid", pid}});
  say(child + ": ended and left process " + std::to_string(pid) +
      " running in the background, which is being ended; start the program in the foreground");
}

void RunReport::hook_failed(const std::string& why) {
  if (json_) return print({{"event", "hook_failed"}, {"message", why}});
  say(why);
}

void RunReport::listening(const Address& address) {
  if (!json_) return say("listening on " + url_of(address));
  print({{"event", "http_listening"}, {"address", address.host}, {"port", address.port}});
}

void RunReport::exit(int code, const std::string& why) {
  if (json_) return print({{"event", "exit"}, {"code", code}, {"reason", why}});
  say(why);
}

void RunReport::say(const std::string& sentence) {
  if (!sentence.empty()) terminal_.note("muster run: " + sentence + "\n");
}

void RunReport::print(Json json) {
  json["time"] = to_ms(system_wall_now());
  terminal_.note(dump(json) + "\n");
}

}  // namespace muster::cli
