#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/topology_text.h"
#include "client/topology_watch.h"
#include "platform/signals.h"
#include "platform/system_clock.h"

namespace muster::cli {
namespace {

std::vector<client::Node> by_id(std::vector<client::Node> nodes) {
  std::sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return nodes;
}

class TopologyCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "topology"; }
  [[nodiscard]] const char* summary() const override {
    return "Who is in, in which state, at which version";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster topology --server 10.0.0.1:9000,10.0.0.2:9000 --json\n"
           "  muster topology --watch\n"
           "\n"
           "With --watch it prints every change until SIGTERM or SIGINT, goes on with another\n"
           "server when one is lost, and misses nothing: a gap would be told as a snapshot.\n"
           "With --linearizable the answer is not older than any change that was acknowledged.\n";
  }

  void declare(CLI::App& app) override {
    server_.declare(app);
    add_flag(app, "--watch", watch_, "Print every change until told to stop");
    add_flag(app, "--linearizable", linearizable_, "Not from a copy that may be behind");
    add_flag(app, "--json", json_, "Print one JSON object; JSON lines with --watch");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (watch_ && linearizable_) {
      return {Errc::kInvalid, "--watch follows what --linearizable asks once: choose one of them"};
    }
    if (watch_) return follow(terminal);
    const auto client = server_.open();
    if (!client) return client.error();
    const auto topology = (*client)->get_topology(linearizable_, server_.call());
    if (!topology) return refused(terminal, name(), topology.error());
    if (json_) {
      terminal.line(dump(topology_json(*topology)));
    } else {
      print(terminal, *topology);
    }
    return kDone;
  }

 private:
  static void print(Terminal& terminal, const client::TopologyImage& topology) {
    terminal.line("version " + std::to_string(topology.version.value()) + ", " +
                  std::to_string(topology.nodes.size()) + " nodes, " +
                  (topology.leader_id.empty() ? terminal.red("no server leads")
                                              : "server " + topology.leader_id + " leads") +
                  ", " + std::to_string(topology.ring.virtual_nodes) +
                  " virtual nodes, replication " + std::to_string(topology.ring.replication));
    if (!topology.nodes.empty()) {
      terminal.out << node_table(by_id(topology.nodes), system_wall_now());
    }
  }

  Result<int> follow(Terminal& terminal) {
    StopSignals signals;  // Before the client's thread.
    const auto client = server_.open();
    if (!client) return client.error();
    // Nobody there at all is an answer; losing them later is not.
    if (const auto health = (*client)->health_check(server_.call()); !health) {
      return refused(terminal, name(), health.error());
    }
    const auto watch = client::watch_topology_with_recovery(
        **client, {}, [&](const client::WatchEvent& event, TopologyVersion) {
          const WallTime now = system_wall_now();
          terminal.line(json_ ? dump(event_json(event, now)) : event_text(event, now));
          if (!terminal.out) signals.request();
        });
    if (!watch) return watch.error();
    signals.wait();
    return kDone;
  }

  ServerOptions server_;
  bool watch_ = false;
  bool linearizable_ = false;
  bool json_ = false;
};

class NodesCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "nodes"; }
  [[nodiscard]] const char* summary() const override { return "The nodes, or some of them"; }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster nodes --state suspect\n"
           "  ID  TYPE    STATE    ADDRESS        HEARTBEAT  GENERATION\n"
           "  o7  object  SUSPECT  10.0.0.7:7000  47s ago    0e0ff6a4-5b1c-4b1e-a8bb-9ad5f3b4c1d2\n"
           "\n"
           "Exits with 1 when there is none.\n";
  }

  void declare(CLI::App& app) override {
    server_.declare(app);
    add_value(app, "--state", "STATE", "", "Only active, joining, draining, down or suspect ones",
              [this](const std::string& text) { return set(parse_node_state(text), state_); });
    add_value(app, "--type", "TYPE", "", "Only frontend, metadata or object ones",
              [this](const std::string& text) { return set(parse_node_type(text), type_); });
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    const auto client = server_.open();
    if (!client) return client.error();
    auto topology = (*client)->get_topology(false, server_.call());
    if (!topology) return refused(terminal, name(), topology.error());
    std::vector<client::Node> nodes = by_id(std::move(topology->nodes));
    std::erase_if(nodes, [&](const client::Node& node) {
      return (state_ && node.state != *state_) || (type_ && node.type != *type_);
    });
    if (json_) {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const client::Node& node : nodes) list.push_back(node_json(node));
      terminal.line(dump({{"version", topology->version.value()}, {"nodes", std::move(list)}}));
    } else if (nodes.empty()) {
      terminal.line("no such nodes");
    } else {
      terminal.out << node_table(nodes, system_wall_now());
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

  ServerOptions server_;
  std::optional<client::NodeState> state_;
  std::optional<client::NodeType> type_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_topology_command() {
  return std::make_unique<TopologyCommand>();
}

std::unique_ptr<Command> make_nodes_command() {
  return std::make_unique<NodesCommand>();
}

}  // namespace muster::cli
