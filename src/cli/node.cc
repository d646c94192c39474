#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/decision_text.h"
#include "cli/event_text.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/service_options.h"
#include "cli/topology_text.h"
#include "client/node_agent.h"
#include "core/membership/validation.h"
#include "platform/signals.h"
#include "platform/system_clock.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

class NodeCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "node"; }
  [[nodiscard]] const char* summary() const override {
    return "Register, drain, undrain, remove or explain one node";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster node register o1 --type object --address 10.0.0.7 --port 7000 --keep-alive\n"
           "  muster node register q1 --service queue --tag zone=b --address 10.0.0.8 --port 7000\n"
           "  muster node drain o1              out of the ring, until undrained\n"
           "  muster node undrain o1            back into the ring\n"
           "  muster node remove o1\n"
           "  muster node explain o1            why it is in this state, as a timeline\n"
           "\n"
           "With --keep-alive, register sends heartbeats until SIGTERM or SIGINT, prints events "
           "of the\n"
           "node, and deregisters it at the end; it exits with 1 if another process registers the "
           "same\n"
           "id. Without --keep-alive the node is JOINING until it sends heartbeats. A drain "
           "survives\n"
           "restarts of the node and its removal. Exits with 1 if the servers refuse.\n";
  }

  void declare(CLI::App& app) override {
    add_argument(app, "ACTION", action_, "register, drain, undrain, remove or explain");
    add_argument(app, "ID", id_, "The node");
    server_.declare(app);
    add_value(app, "--service", "NAME", "object",
              "Service of the node: lower-case letters, digits and hyphens",
              [this](const std::string& text) {
                if (Status s = membership::validate_service(text); !s) return s;
                service_ = text;
                return Status(Done{});
              });
    add_tags(app, spec_.tags, "Tag of the node; repeat it for several");
    add_value(app, "--type", "TYPE", "",
              "The same as --service, for frontend, metadata and object only",
              [this](const std::string& text) {
                const auto type = membership::parse_node_type(text);
                if (!type) return Status(type.error());
                type_ = *type;
                return Status(Done{});
              });
    add_text(app, "--address", "HOST", spec_.address, "Host name or address of the node");
    add_value(app, "--port", "PORT", "", "Port of the node", [this](const std::string& text) {
      const auto port = parse_count(text, 65535);
      if (!port) return Status(port.error());
      spec_.port = *port;
      return Status(Done{});
    });
    add_count(app, "--weight", spec_.weight, "Weight of the node on the ring",
              membership::kWeightMax);
    add_text(app, "--generation", "UUID", generation_,
             "UUID of this run of the node (default: random)");
    add_flag(app, "--keep-alive", keep_alive_, "Send heartbeats until interrupted");
    add_duration(app, "--heartbeat-interval", agent_.heartbeat_interval,
                 "Interval between heartbeats, with --keep-alive");
    add_flag(app, "--cancel", cancel_, "With drain: the same as undrain");
    add_flag(app, "--json", json_, "Print JSON");
  }

  [[nodiscard]] bool lasting() const override { return keep_alive_; }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (action_ != "register" && action_ != "drain" && action_ != "undrain" &&
        action_ != "remove" && action_ != "explain") {
      return {Errc::kInvalid,
              action_.empty()
                  ? "say what to do: register, drain, undrain, remove or explain"
                  : "\"" + action_ + "\" is none of register, drain, undrain, remove and explain"};
    }
    if (cancel_ && action_ != "drain") return {Errc::kInvalid, "--cancel belongs to drain"};
    if (action_ == "undrain") cancel_ = true;
    if (id_.empty()) return {Errc::kInvalid, "name the node: muster node " + action_ + " ID"};
    if (Status status = membership::validate_node_id(id_); !status) return status.error();
    if (action_ == "register") return enter(terminal);
    const auto client = server_.open();
    if (!client) return client.error();
    if (action_ == "explain") return explain(terminal, **client);
    return action_ == "remove" ? remove(terminal, **client) : drain(terminal, **client);
  }

 private:
  Result<int> enter(Terminal& terminal) {
    spec_.id = NodeId(id_);
    if (type_ && !service_.empty() && membership::service_of(*type_, {}) != service_) {
      return {Errc::kInvalid, "--service " + service_ + " and --type " +
                                  std::string(membership::service_of(*type_, {})) +
                                  " name two services; keep one"};
    }
    if (!service_.empty()) membership::set_service(spec_, service_);
    if (type_) spec_.type = *type_;
    spec_.generation =
        membership::Generation(generation_.empty() ? system_random().uuid() : generation_);
    if (spec_.address.empty() || spec_.port == 0) {
      return {Errc::kInvalid, "name the address of the node: --address HOST and --port PORT"};
    }
    if (Status status = membership::validate(spec_); !status) return status.error();
    if (keep_alive_) return keep_alive(terminal);
    const auto client = server_.open();
    if (!client) return client.error();
    const auto done = (*client)->register_node(spec_, server_.call());
    if (!done) return refused(terminal, name(), done.error());
    const Json json = {{"node_id", id_},
                       {"generation_id", spec_.generation.value()},
                       {"topology_version", done->version.value()},
                       {"already_registered", done->already_registered}};
    terminal.line(
        json_ ? dump(json)
              : id_ + (done->already_registered ? " was registered already" : " is registered") +
                    ", generation " + spec_.generation.value() + ", version " +
                    std::to_string(done->version.value()));
    return kDone;
  }

  Result<int> keep_alive(Terminal& terminal) {
    if (Status status = agent_.validate(); !status) return status.error();
    StopSignals signals;  // Before the client's thread.
    const auto client = server_.open();
    if (!client) return client.error();
    // The agent goes on trying, because servers that are down come back. A mistake with TLS does
    // not pass by itself: the first look names it.
    const client::CallOptions first_look{.timeout = std::min<Duration>(server_.timeout, 2s)};
    if (const auto health = (*client)->health_check(first_look); !health) {
      terminal.err << "muster node: " + health.error().message + "\n" << std::flush;
    }
    std::atomic<bool> over = false;
    const auto agent =
        client::NodeAgent::start(**client, agent_, [&](const client::AgentEvent& event) {
          tell(terminal, event);
          // Not to be kept: another has its place, or the servers will never take it.
          if (event.final && event.kind != client::AgentEventKind::kDeregistered) over = true;
          if (over || terminal.unread()) signals.request();
        });
    if (!agent) return agent.error();
    if (Status status = (*agent)->add(spec_); !status) return status.error();
    terminal.when_unread([&signals] { signals.request(); });
    signals.wait();
    terminal.when_unread({});
    if (!(*agent)->stop(server_.timeout)) {
      return {Errc::kUnavailable,
              "the node could not be deregistered in time; the servers will "
              "find it silent and mark it DOWN"};
    }
    return over ? kNo : kDone;
  }

  void tell(Terminal& terminal, const client::AgentEvent& event) const {
    const WallTime now = system_wall_now();
    if (json_) {
      terminal.event(dump({{"event", to_string(event.kind)},
                           {"node_id", id_},
                           {"generation_id", event.generation.value()},
                           {"reason", event.reason},
                           {"time", to_ms(now)}}));
      return;
    }
    std::string text = format_time(now) + " " + to_string(event.kind);
    if (!event.generation.value().empty()) text += " generation " + event.generation.value();
    if (!event.reason.empty()) text += ": " + event.reason;
    terminal.event(text);
  }

  Result<int> drain(Terminal& terminal, client::Client& client) {
    const auto version = client.call(client::DrainNode{NodeId(id_), cancel_}, server_.call());
    if (!version) return refused(terminal, name(), version.error());
    return report(terminal, *version, cancel_ ? " is not drained any more" : " is drained");
  }

  Result<int> remove(Terminal& terminal, client::Client& client) {
    const auto version = client.call(
        client::DeregisterNode{NodeId(id_), membership::Generation(generation_)}, server_.call());
    if (!version) return refused(terminal, name(), version.error());
    return report(terminal, *version, " is removed");
  }

  Result<int> explain(Terminal& terminal, client::Client& client) {
    const auto why = client.call(client::Explain{id_}, server_.call());
    if (!why) return refused(terminal, name(), why.error());
    if (json_) {
      Json decisions = Json::array();
      for (const client::DecisionRecord& each : why->decisions) decisions.push_back(to_json(each));
      terminal.line(dump({{"node_id", id_},
                          {"state", why->node ? Json(to_string(why->node->state)) : Json(nullptr)},
                          {"decisions", std::move(decisions)}}));
    } else {
      terminal.out << timeline(why->decisions);
      terminal.line(why->node ? id_ + " is " + to_string(why->node->state) + ", last heard " +
                                    format_time(why->node->last_heartbeat_at)
                              : "no node " + id_ + " is registered");
    }
    return why->node || !why->decisions.empty() ? kDone : kNo;
  }

  Result<int> report(Terminal& terminal, TopologyVersion version, const std::string& text) const {
    terminal.line(json_ ? dump({{"node_id", id_}, {"topology_version", version.value()}})
                        : id_ + text + ", version " + std::to_string(version.value()));
    return kDone;
  }

  ServerOptions server_;
  std::string action_;
  std::string id_;
  std::string service_;
  std::optional<membership::NodeType> type_;
  membership::NodeSpec spec_{{}, {}, 0, membership::NodeType::kObject, {}, 1, {}};
  std::string generation_;
  client::AgentConfig agent_;
  bool keep_alive_ = false;
  bool cancel_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_node_command() {
  return std::make_unique<NodeCommand>();
}

}  // namespace muster::cli
