#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/event_text.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/service_options.h"
#include "cli/topology_screen.h"
#include "cli/topology_text.h"
#include "platform/signals.h"
#include "platform/system_clock.h"

namespace muster::cli {
namespace {

class NodesCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "nodes"; }
  [[nodiscard]] const char* summary() const override {
    return "List nodes, filtered by service, tag or state";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster nodes --service search --tag zone=b\n"
           "  muster nodes --state suspect\n"
           "  ID  SERVICE  STATE    ADDRESS        HEARTBEAT  GENERATION\n"
           "  o7  object   SUSPECT  10.0.0.7:7000  47s ago    "
           "0e0ff6a4-5b1c-4b1e-a8bb-9ad5f3b4c1d2\n"
           "\n"
           "Exits with 1 if there is no such node. With --watch it runs until SIGTERM or SIGINT: "
           "it\n"
           "redraws the screen once a second on a terminal and prints a line for each change "
           "elsewhere.\n";
  }

  void declare(CLI::App& app) override {
    server_.declare(app);
    add_value(app, "--state", "STATE", "",
              "Only nodes in this state: active, joining, draining, down or suspect",
              [this](const std::string& text) {
                return set(membership::parse_node_state(text), state_);
              });
    add_service_filter(app, services_);
    add_tags(app, tags_, "Only nodes with this tag; repeat it to ask for several");
    add_value(
        app, "--type", "TYPE", "", "Only nodes of this type: frontend, metadata or object",
        [this](const std::string& text) { return set(membership::parse_node_type(text), type_); });
    add_flag(app, "--watch", watch_, "Follow changes until interrupted");
    add_flag(app, "--json", json_, "Print one JSON object; JSON lines with --watch");
  }

  [[nodiscard]] bool lasting() const override { return watch_; }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (watch_) return show(terminal);
    const auto client = server_.open();
    if (!client) return client.error();
    const auto topology = (*client)->call(client::GetTopology{false, services_}, server_.call());
    if (!topology) return refused(terminal, name(), topology.error());
    const std::vector<client::Node> nodes = wanted(*topology);
    if (json_) {
      terminal.line(to_json(topology->version, nodes));
    } else if (nodes.empty()) {
      terminal.line("no such nodes");
    } else {
      terminal.out << node_table(nodes);
    }
    return nodes.empty() ? kNo : kDone;
  }

 private:
  template <typename T>
  static Status set(const Result<T>& parsed, std::optional<T>& target) {
    if (!parsed) return parsed.error();
    target = *parsed;
    return Done{};
  }

  [[nodiscard]] std::vector<client::Node> wanted(const client::TopologyImage& topology) const {
    std::vector<client::Node> nodes = by_id(topology.nodes);
    std::erase_if(nodes, [&](const client::Node& node) {
      const bool tagged = std::all_of(tags_.begin(), tags_.end(), [&](const auto& tag) {
        const auto found = node.tags.find(tag.first);
        return found != node.tags.end() && found->second == tag.second;
      });
      return (state_ && node.state != *state_) || (type_ && node.type != *type_) || !tagged;
    });
    return nodes;
  }

  static std::string to_json(TopologyVersion version, const std::vector<client::Node>& nodes) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const client::Node& node : nodes) list.push_back(node_json(node));
    return dump({{"version", version.value()}, {"nodes", std::move(list)}});
  }

  Result<int> show(Terminal& terminal) {
    StopSignals signals;  // Before the client's thread.
    const auto client = server_.open();
    if (!client) return client.error();
    return follow(terminal, signals, json_, [&]() -> Result<Look> {
      const auto sight = see(**client, services_, server_.call());
      if (!sight) return sight.error();
      const WallTime now = system_wall_now();
      std::vector<client::Node> nodes = wanted(sight->topology);
      Look look{topology_screen(terminal, *sight, nodes, now), {}, {}};
      look.line = json_ ? to_json(sight->topology.version, nodes) : to_text(nodes, now);
      // Heartbeats alone are no change.
      for (client::Node& node : nodes) node.last_heartbeat_at = {};
      look.key = to_json(TopologyVersion(0), nodes);
      return look;
    });
  }

  static std::string to_text(const std::vector<client::Node>& nodes, WallTime now) {
    std::string text = format_time(now) + " " + std::to_string(nodes.size()) + " nodes";
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      text += (i == 0 ? ": " : ", ") + nodes[i].id.value() + " " + state_text(nodes[i]);
    }
    return text;
  }

  ServerOptions server_;
  client::ServiceFilter services_ = client::ServiceFilter::all();
  membership::Tags tags_;
  std::optional<client::NodeState> state_;
  std::optional<client::NodeType> type_;
  bool watch_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_nodes_command() {
  return std::make_unique<NodesCommand>();
}

}  // namespace muster::cli
