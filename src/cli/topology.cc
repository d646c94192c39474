#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/service_options.h"
#include "cli/topology_screen.h"
#include "cli/topology_text.h"
#include "client/topology_watch.h"
#include "platform/signals.h"
#include "platform/system_clock.h"

namespace muster::cli {
namespace {

class TopologyCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "topology"; }
  [[nodiscard]] const char* summary() const override {
    return "Show nodes, states and the topology version";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster topology --server 10.0.0.1:9000,10.0.0.2:9000 --json\n"
           "  muster topology --watch\n"
           "\n"
           "With --watch it runs until SIGTERM or SIGINT. On a terminal it shows the leader and "
           "the state\n"
           "of each node, once a second. Elsewhere, and with --json, it prints every change, "
           "continues\n"
           "with another server if one is lost, and misses nothing: a gap is reported as a "
           "snapshot.\n"
           "With --linearizable the answer is not older than any acknowledged change.\n";
  }

  void declare(CLI::App& app) override {
    server_.declare(app);
    add_service_filter(app, services_);
    add_flag(app, "--watch", watch_, "Follow changes until interrupted");
    add_flag(app, "--linearizable", linearizable_,
             "Include every change that was acknowledged before the call");
    add_flag(app, "--json", json_, "Print one JSON object; JSON lines with --watch");
  }

  [[nodiscard]] bool lasting() const override { return watch_; }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (watch_ && linearizable_) {
      return {Errc::kInvalid, "--watch and --linearizable exclude each other; keep one"};
    }
    if (watch_) return terminal.window && !json_ ? show(terminal) : print_changes(terminal);
    const auto client = server_.open();
    if (!client) return client.error();
    const auto topology =
        (*client)->call(client::GetTopology{linearizable_, services_}, server_.call());
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
                  std::to_string(topology.nodes.size()) +
                  (topology.nodes.size() == 1 ? " node, " : " nodes, ") +
                  (topology.leader_id.empty() ? terminal.red("no server leads")
                                              : "server " + topology.leader_id + " leads") +
                  ", " + std::to_string(topology.ring.virtual_nodes) +
                  " virtual nodes, replication " + std::to_string(topology.ring.replication));
    if (!topology.nodes.empty()) {
      terminal.out << node_table(by_id(topology.nodes));
    }
  }

  Result<int> show(Terminal& terminal) {
    StopSignals signals;  // Before the client's thread.
    const auto client = server_.open();
    if (!client) return client.error();
    return follow(terminal, signals, false, [&]() -> Result<Look> {
      const auto sight = see(**client, services_, server_.call());
      if (!sight) return sight.error();
      return Look{
          topology_screen(terminal, *sight, by_id(sight->topology.nodes), system_wall_now()),
          {},
          {}};
    });
  }

  Result<int> print_changes(Terminal& terminal) {
    StopSignals signals;  // Before the client's thread.
    const auto client = server_.open();
    if (!client) return client.error();
    // Nobody there at all is an answer; losing them later is not.
    if (const auto health = (*client)->health_check(server_.call()); !health) {
      return refused(terminal, name(), health.error());
    }
    client::WatchConfig config;
    config.services = services_;
    const auto watch = client::watch_topology_with_recovery(
        **client, config, [&](const client::WatchEvent& event, TopologyVersion) {
          const WallTime now = system_wall_now();
          // The watch could not be ended while its callback waits for a reader.
          terminal.event(json_ ? dump(event_json(event, now)) : event_text(event, now));
          if (terminal.unread()) signals.request();
        });
    if (!watch) return watch.error();
    terminal.when_unread([&signals] { signals.request(); });
    signals.wait();
    terminal.when_unread({});
    return kDone;
  }

  ServerOptions server_;
  client::ServiceFilter services_ = client::ServiceFilter::all();
  bool watch_ = false;
  bool linearizable_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_topology_command() {
  return std::make_unique<TopologyCommand>();
}

}  // namespace muster::cli
