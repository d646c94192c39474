#include "tests/sim/replay.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/membership/commands.h"
#include "core/membership/topology.h"

namespace muster::sim {
namespace {

using namespace membership;
using Json = nlohmann::json;

class Replay {
 public:
  /// Empty, or what is wrong with it.
  std::string step(const Json& d) {
    const std::string cause = d.at("cause");
    const std::string id = d.at("subject");
    const std::string to = d.at("to");
    now_ = log_time_from_ms(d.at("at").get<std::int64_t>());
    if (cause != "registered") begin(id, d.at("from"));
    if (std::string wrong = check_cause(d); !wrong.empty()) return wrong;
    const Status done = decide(cause, id, to);
    if (!done) return "was refused: " + done.error().message;
    return state(id) == to ? "" : "led to \"" + state(id) + "\" and not to \"" + to + "\"";
  }

  /// Empty, or the first node that is not as recorded.
  [[nodiscard]] std::string compare(const Json& nodes) const {
    std::size_t known = 0;
    for (const Json& node : nodes) {
      const std::string id = node.at("id");
      const std::string is = state(id);
      // A node that nothing was decided about since the recording begins is not known here.
      if (is.empty()) continue;
      ++known;
      if (const std::string was = node.at("state"); is != was) {
        return id + " is " + is + " and was " + was;
      }
    }
    if (known != topology_.size()) {
      return "there are " + std::to_string(topology_.size()) + " nodes and were " +
             std::to_string(known);
    }
    return "";
  }
  [[nodiscard]] std::size_t size() const { return topology_.size(); }

 private:
  [[nodiscard]] std::string state(const std::string& id) const {
    const NodeEntry* node = topology_.find(NodeId(id));
    return node == nullptr ? "" : to_string(node->state);
  }

  Status apply(const Command& command) {
    const ApplyResult result = topology_.apply(command, now_);
    if (!result.outcome) return result.outcome.error();
    return Done{};
  }

  Status enter(const std::string& id) {
    NodeSpec spec;
    spec.id = NodeId(id);
    spec.address = "10.0.0.1";
    spec.port = 1;
    spec.type = NodeType::kObject;
    const std::string digits = std::to_string(++generations_);
    spec.generation =
        Generation("00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits);
    return apply(RegisterNode{spec, {}});
  }

  Status beat(const std::string& id, NodeState reported) {
    const NodeEntry* node = topology_.find(NodeId(id));
    if (node == nullptr) return {Errc::kNotFound, "there is no such node"};
    return apply(BatchHeartbeat{topology_.registrations(), {{node->slot, reported}}, {}});
  }

  Status judge(const std::string& id, const std::string& to) {
    const NodeEntry* node = topology_.find(NodeId(id));
    if (node == nullptr) return {Errc::kNotFound, "there is no such node"};
    const Observation seen = observe(*node);
    if (to == "SUSPECT") return apply(MarkSuspect{seen, {}});
    return apply(MarkDown{seen, {}});
  }

  /// The node as the first decision about it found it.
  void begin(const std::string& id, const std::string& from) {
    if (topology_.find(NodeId(id)) != nullptr || from.empty()) return;
    (void)enter(id);
    if (from == "JOINING") return;
    (void)beat(id, NodeState::kActive);
    if (from == "DRAINING") (void)beat(id, NodeState::kDraining);
    if (from == "SUSPECT" || from == "DOWN") (void)judge(id, "SUSPECT");
    if (from == "DOWN") (void)judge(id, "DOWN");
  }

  Status decide(const std::string& cause, const std::string& id, const std::string& to) {
    if (cause == "registered" || cause == "replaced") return enter(id);
    if (cause == "deregistered") return apply(DeregisterNode{NodeId(id), {}, {}});
    if (cause == "heartbeat") return beat(id, NodeState::kActive);
    if (cause == "silence") return judge(id, to);
    if (cause == "joining-timeout") {
      return apply(RemoveJoining{observe(*topology_.find(NodeId(id))), {}});
    }
    if (cause == "reported") {
      return beat(id, to == "DRAINING" ? NodeState::kDraining : NodeState::kActive);
    }
    if (cause != "asked") return {Errc::kUnsupported, "its cause \"" + cause + "\" is not known"};
    if (state(id) == to) {
      return apply(SetDrain{NodeId(id), !topology_.find(NodeId(id))->drain_requested, {}});
    }
    const bool joining = state(id) == "JOINING";
    if (Status s = apply(Drain{NodeId(id), to != "DRAINING", {}}); !s) return s;
    // Asked for while it was JOINING, it takes effect with the first heartbeat.
    return joining ? beat(id, NodeState::kActive) : Status(Done{});
  }

  /// The rules of the failure detector, held against what it said.
  static std::string check_cause(const Json& d) {
    if (d.at("cause") != "silence" || !d.contains("silence_ms")) return "";
    const bool down = d.at("to") == "DOWN";
    const std::int64_t limit = d.at(down ? "down_after_ms" : "suspect_after_ms");
    if (d.at("silence_ms").get<std::int64_t>() < limit) return "came before its timeout";
    if (!down) return "";
    if (d.at("listened_ms").get<std::int64_t>() < d.at("grace_ms").get<std::int64_t>()) {
      return "came within the leader's grace";
    }
    if (d.at("down_in_use").get<std::int64_t>() >= d.at("down_allowed").get<std::int64_t>()) {
      return "came although the brake was on";
    }
    return "";
  }

  Topology topology_;
  LogTime now_{};
  std::uint64_t generations_ = 0;
};

}  // namespace

ReplayReport replay(std::istream& recording) {
  ReplayReport report;
  Replay world;
  std::string line;
  bool headed = false;
  bool ended = false;
  while (report.violation.empty() && std::getline(recording, line)) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.is_object()) {
      report.violation = "a line is no JSON object: " + line;
    } else if (json.contains("record")) {
      headed = json.at("record") == 1;
    } else if (json.contains("nodes")) {
      report.violation = world.compare(json.at("nodes"));
      ended = true;
    } else if (json.value("kind", "") == "transition") {
      ++report.decisions;
      const std::string wrong = world.step(json);
      if (!wrong.empty()) report.violation = "decision " + json.at("seq").dump() + " " + wrong;
    }
  }
  report.nodes = world.size();
  if (report.violation.empty() && !headed) report.violation = "this is no recording of format 1";
  if (report.violation.empty() && !ended) report.violation = "the recording has no end";
  return report;
}

}  // namespace muster::sim
