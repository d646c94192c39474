#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/topology_text.h"
#include "client/requests.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

class ServerCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "server"; }
  [[nodiscard]] const char* summary() const override {
    return "List, add and remove servers; transfer leadership";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster server list\n"
           "  muster server add s4 --peer 10.0.0.4:9001\n"
           "  muster server transfer --to s2\n"
           "  muster server remove s3\n"
           "  muster server log-level debug --server 10.0.0.1:9000\n"
           "\n"
           "add prints the command that starts the new server, which then asks to be admitted. "
           "--peer is\n"
           "the address of its member of a managed engine; omit it for an engine that the servers "
           "share.\n"
           "Words in capitals are for you to replace. Exits with 1 if the id is in use.\n"
           "transfer asks the leader to hand over, to the named server or to any; it returns when "
           "the\n"
           "leader has accepted the request, a moment before the other server leads. A server that "
           "leads\n"
           "already or has been silent is refused with exit code 1. remove is for a server that is "
           "gone for\n"
           "good; it also removes that member of a managed engine. Stop the server first: one that "
           "was heard\n"
           "within the last 10 s is refused with exit code 1.\n";
  }

  void declare(CLI::App& app) override {
    add_argument(app, "ACTION", action_, "list, add, transfer, remove or log-level");
    add_argument(app, "ID", id_,
                 "With add and remove: which server; with log-level: debug, info, warn or error");
    server_.declare(app);
    add_text(app, "--to", "ID", to_, "With transfer: id of the server that should lead");
    add_text(app, "--peer", "HOST:PORT", peer_, "With add: address of the new member's engine");
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (Status status = check(); !status) return status.error();
    const auto client = server_.open();
    if (!client) return client.error();
    if (action_ == "add") return add(terminal, **client);
    if (action_ == "remove") return remove(terminal, **client);
    if (action_ == "log-level") return set_level(terminal, **client);
    return action_ == "list" ? list(terminal, **client) : transfer(terminal, **client);
  }

 private:
  [[nodiscard]] Status check() const {
    if (action_ != "list" && action_ != "add" && action_ != "transfer" && action_ != "remove" &&
        action_ != "log-level") {
      return {Errc::kInvalid,
              action_.empty()
                  ? "say what to do: list, add, transfer, remove or log-level"
                  : "\"" + action_ + "\" is none of list, add, transfer, remove and log-level"};
    }
    if (action_ != "transfer" && !to_.empty()) return {Errc::kInvalid, "--to belongs to transfer"};
    if (action_ != "add" && !peer_.empty()) return {Errc::kInvalid, "--peer belongs to add"};
    const bool level = action_ == "log-level";
    const bool about_one = action_ == "add" || action_ == "remove";
    if ((about_one || level) == id_.empty()) {
      return {Errc::kInvalid, about_one ? "name the server: muster server " + action_ + " ID"
                              : level   ? "name the level: muster server log-level debug"
                                        : "an ID belongs to add and remove"};
    }
    return Done{};
  }

  Result<int> add(Terminal& terminal, client::Client& client) const {
    const auto known = client.call(client::ListServers{}, server_.call());
    if (!known) return refused(terminal, name(), known.error());
    std::string join;
    for (const client::ServerInfo& server : known->servers) {
      if (server.id == id_) {
        return refused(terminal, name(),
                       {Errc::kConflict, id_ + " is a server already, at " + server.address});
      }
      join += (join.empty() ? "" : ",") + server.address;
    }
    const bool managed = known->engine == "managed" || (known->engine.empty() && !peer_.empty());
    if (!managed && !peer_.empty()) {
      return refused(terminal, name(),
                     {Errc::kConflict, "--peer is for a managed engine, and these servers share " +
                                           known->engine + ": omit it"});
    }
    const std::string peer = peer_.empty() ? "HOST:PORT" : peer_;
    std::string start = "musterd --id " + id_;
    start += managed ? " --engine managed --peers " + id_ + "=" + peer + " --join " + join
                     : " --engine URL";
    start += " --data-dir DIR --listen HOST:PORT --cert FILE --key FILE --cacert FILE";
    if (!known->crl_option.empty()) {
      start += " " + known->crl_option + (known->crl_option == "--crl-url" ? " URL" : " FILE");
    }
    terminal.line(json_ ? dump({{"id", id_}, {"start", start}}) : start);
    return kDone;
  }

  Result<int> list(Terminal& terminal, client::Client& client) const {
    const auto known = client.call(client::ListServers{}, server_.call());
    if (!known) return refused(terminal, name(), known.error());
    Json all = Json::array();
    std::vector<std::vector<std::string>> table{{"ID", "ADDRESS", "ROLE", "SILENT", "VERSION"}};
    for (const client::ServerInfo& server : known->servers) {
      all.push_back({{"id", server.id},
                     {"address", server.address},
                     {"leader", server.leader},
                     {"version", server.version},
                     {"announced_at", to_ms(server.announced_at)},
                     {"silent_ms", to_ms(server.silent)},
                     {"command_level", server.command_level},
                     {"role", server.role}});
      table.push_back(
          {server.id, server.address, server.role, format_duration(server.silent), server.version});
    }
    if (json_) {
      terminal.line(dump({{"servers", std::move(all)}}));
    } else {
      terminal.out << format_table(table);
    }
    return kDone;
  }

  Result<int> transfer(Terminal& terminal, client::Client& client) const {
    const auto from = client.call(client::TransferLeadership{to_}, server_.call());
    if (!from) return refused(terminal, name(), from.error());
    terminal.line(json_ ? dump({{"from", *from}})
                        : *from + " hands over the leadership" + (to_.empty() ? "" : " to " + to_));
    return kDone;
  }

  Result<int> remove(Terminal& terminal, client::Client& client) const {
    const auto removed = client.call(client::RemoveServer{id_}, server_.call());
    if (!removed) return refused(terminal, name(), removed.error());
    terminal.line(json_ ? dump({{"removed", id_}}) : id_ + " is removed");
    return kDone;
  }

  Result<int> set_level(Terminal& terminal, client::Client& client) const {
    const auto previous = client.call(client::SetLogLevel{id_}, server_.call());
    if (!previous) return refused(terminal, name(), previous.error());
    terminal.line(json_ ? dump({{"level", id_}, {"previous", *previous}})
                        : "it logs from " + id_ + " on; before, from " + *previous);
    return kDone;
  }

  ServerOptions server_;
  std::string action_;
  std::string id_;
  std::string to_;
  std::string peer_;
  bool json_ = false;
};

class HealthCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "health"; }
  [[nodiscard]] const char* summary() const override {
    return "Show server health and the current leader";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster health --server 10.0.0.1:9000 --json\n"
           "\n"
           "Asks the first of the named servers that answers about itself. Exits with 1 and the "
           "reason if\n"
           "that server is not healthy, and with 69 if no server answers.\n";
  }

  void declare(CLI::App& app) override {
    server_.declare(app);
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    const auto client = server_.open();
    if (!client) return client.error();
    const auto health = (*client)->health_check(server_.call());
    if (!health) return refused(terminal, name(), health.error());
    if (json_) {
      terminal.line(dump(to_json(*health)));
    } else {
      const std::string text = to_text(*health);
      terminal.line(health->healthy ? terminal.green(text) : terminal.red(text));
    }
    return health->healthy ? kDone : kNo;
  }

 private:
  static Json to_json(const client::Health& health) {
    return {{"healthy", health.healthy},
            {"reason", health.reason},
            {"server_id", health.server_id},
            {"raft_state", to_string(health.role)},
            {"raft_term", health.epoch.value()},
            {"committed_index", health.committed_index},
            {"applied_index", health.applied_index},
            {"leader_id", health.leader_id},
            {"leader_address", health.leader_address},
            {"topology_version", health.topology_version.value()},
            {"active_nodes", health.active_nodes},
            {"suspect_nodes", health.suspect_nodes},
            {"down_nodes", health.down_nodes},
            {"watch_subscribers", health.watch_subscribers}};
  }

  static std::string to_text(const client::Health& health) {
    if (!health.healthy) return "not healthy: " + health.reason;
    return "healthy: " + to_lower(to_string(health.role)) + ", " + health.leader_id + " leads at " +
           health.leader_address + ", epoch " + std::to_string(health.epoch.value()) +
           ", version " + std::to_string(health.topology_version.value()) +
           ", nodes: " + std::to_string(health.active_nodes) + " active, " +
           std::to_string(health.suspect_nodes) + " suspect, " + std::to_string(health.down_nodes) +
           " down" + (health.reason.empty() ? "" : "; " + health.reason);
  }

  ServerOptions server_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_server_command() {
  return std::make_unique<ServerCommand>();
}

std::unique_ptr<Command> make_health_command() {
  return std::make_unique<HealthCommand>();
}

}  // namespace muster::cli
