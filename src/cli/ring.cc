#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/topology_text.h"
#include "core/client/topology_view.h"
#include "core/membership/lifecycle.h"
#include "core/membership/validation.h"
#include "core/routing/movement_plan.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(KeyShare share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f %%", 100 * to_fraction(share));
  return text;
}

class RingCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "ring"; }
  [[nodiscard]] const char* summary() const override {
    return "Look up a key, plan a change, or set the hash ring";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster ring lookup hello\n"
           "  muster ring lookup hello --service queue\n"
           "  muster ring plan --add o7,o8 --remove o1\n"
           "  muster ring set --virtual-nodes-per-physical 32\n"
           "\n"
           "lookup prints the nodes that hold the key, the primary first, and exits with 1 if "
           "there is\n"
           "none. plan is exact, not sampled: shares are of all possible keys. Added nodes have "
           "weight 1.\n"
           "set changes the ring of the whole cluster at once: a new number of virtual nodes "
           "moves most\n"
           "keys. Options that are not given stay unchanged.\n"
           "\n"
           "With --service, lookup and plan use the ring of that service's nodes alone. Without it "
           "they use\n"
           "the ring that frontend, metadata and object nodes share.\n";
  }

  void declare(CLI::App& app) override {
    add_argument(app, "ACTION", action_, "lookup, plan or set");
    add_argument(app, "KEY", key_, "With lookup: key to look up");
    server_.declare(app);
    add_value(app, "--service", "NAME", "", "With lookup and plan: use the ring of this service",
              [this](const std::string& text) {
                if (Status s = membership::validate_service(text); !s) return s;
                services_ = *client::ServiceFilter::parse(text);
                return Status(Done{});
              });
    add_text(app, "--add", "ID,…", add_, "With plan: ids of nodes to add");
    add_text(app, "--remove", "ID,…", remove_, "With plan: ids of nodes to remove");
    add_value(app, "--virtual-nodes-per-physical", "N", "",
              "With set: virtual nodes of each node, per unit of its weight",
              [this](const std::string& text) {
                return set_count(text, membership::kVirtualNodesPerPhysicalMax, virtual_nodes_);
              });
    add_value(app, "--replication-factor", "N", "", "With set: nodes that hold each key",
              [this](const std::string& text) {
                return set_count(text, membership::kReplicationFactorMax, replication_);
              });
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (Status usage = check_usage(); !usage) return usage.error();
    const auto client = server_.open();
    if (!client) return client.error();
    const auto topology =
        (*client)->call(client::GetTopology{action_ == "set", services_}, server_.call());
    if (!topology) return refused(terminal, name(), topology.error());
    if (action_ == "set") return set(terminal, **client, *topology);
    return action_ == "lookup" ? look_up(terminal, *topology) : plan(terminal, *topology);
  }

 private:
  static Status set_count(const std::string& text, std::uint32_t most,
                          std::optional<std::uint32_t>& target) {
    const auto count = parse_count(text, most);
    if (!count) return count.error();
    target = *count;
    return Done{};
  }

  [[nodiscard]] Status check_usage() const {
    if (action_ != "lookup" && action_ != "plan" && action_ != "set") {
      return {Errc::kInvalid, action_.empty()
                                  ? "say what to do: lookup KEY, plan --add ID --remove ID, or set"
                                  : "\"" + action_ + "\" is none of lookup, plan and set"};
    }
    const bool lookup = action_ == "lookup";
    if (lookup == key_.empty()) {
      return {Errc::kInvalid, lookup ? "name the key: muster ring lookup KEY"
                                     : "only lookup takes a key; \"" + key_ + "\" is one too many"};
    }
    const bool changes = !add_.empty() || !remove_.empty();
    if (changes != (action_ == "plan")) {
      return {Errc::kInvalid, changes ? "--add and --remove belong to plan"
                                      : "name the change: --add ID or --remove ID"};
    }
    if (services_.one() && action_ == "set") {
      return {Errc::kInvalid,
              "--service belongs to lookup and plan; all rings have the configuration that set "
              "changes"};
    }
    const bool sets = virtual_nodes_ || replication_;
    if (sets != (action_ == "set")) {
      return {Errc::kInvalid,
              sets ? "--virtual-nodes-per-physical and --replication-factor belong to set"
                   : "give a value to set: --virtual-nodes-per-physical N or --replication-factor "
                     "N"};
    }
    return Done{};
  }

  Result<int> set(Terminal& terminal, client::Client& client,
                  const client::TopologyImage& topology) const {
    const RingConfig ring{virtual_nodes_.value_or(topology.ring.virtual_nodes),
                          replication_.value_or(topology.ring.replication)};
    const auto version = client.call(client::SetHashRing{ring}, server_.call());
    if (!version) return refused(terminal, name(), version.error());
    terminal.line(json_ ? dump({{"virtual_nodes_per_physical", ring.virtual_nodes},
                                {"replication_factor", ring.replication},
                                {"topology_version", version->value()}})
                        : "the ring has " + std::to_string(ring.virtual_nodes) +
                              " virtual nodes per node and replication " +
                              std::to_string(ring.replication) + ", version " +
                              std::to_string(version->value()));
    return kDone;
  }

  Result<int> look_up(Terminal& terminal, const client::TopologyImage& topology) const {
    const client::TopologyView view(topology, services_);
    const client::Owners owners = view.owners(key_);
    std::vector<client::Node> nodes;
    for (std::size_t i = 0; i < owners.size(); ++i) nodes.push_back(owners[i]);
    if (json_) {
      Json list = Json::array();
      for (const client::Node& node : nodes) {
        list.push_back({{"id", node.id.value()},
                        {"address", node.address},
                        {"port", node.port},
                        {"state", membership::to_string(node.state)}});
      }
      // As text: most readers of JSON have no 64-bit numbers.
      terminal.line(dump({{"key", key_},
                          {"position", std::to_string(key_position(key_))},
                          {"owners", std::move(list)},
                          {"degraded", owners.degraded()},
                          {"service", services_.one() ? Json(services_.text()) : Json(nullptr)},
                          {"version", topology.version.value()}}));
    } else {
      for (const client::Node& node : nodes) {
        terminal.line(node.id.value() + " " + node.address + ":" + std::to_string(node.port) +
                      (node.state == client::NodeState::kSuspect ? " SUSPECT" : ""));
      }
      if (owners.degraded()) {
        terminal.err << "muster ring: only " + std::to_string(nodes.size()) + " of " +
                            std::to_string(view.ring().replication) + " nodes hold this key\n";
      }
    }
    return nodes.empty() ? kNo : kDone;
  }

  Result<int> plan(Terminal& terminal, const client::TopologyImage& topology) const {
    // The view holds each id once and its ring within bounds, whatever the server sent.
    const client::TopologyView view(topology, services_);
    std::vector<RingMember> members;
    view.for_each([&](const client::Node& node) {
      if (membership::in_ring(node.state)) members.push_back({node.id, node.weight});
    });
    const HashRing before(members, view.ring());
    if (Status status = change(members); !status) return status.error();
    const MovementPlan plan = movement_plan(before, HashRing(std::move(members), view.ring()));
    print(terminal, topology.version, plan);
    return kDone;
  }

  Status change(std::vector<RingMember>& members) const {
    const auto find = [&](std::string_view id) {
      return std::find_if(members.begin(), members.end(),
                          [&](const RingMember& member) { return member.id.value() == id; });
    };
    for (const std::string_view id :
         remove_.empty() ? std::vector<std::string_view>{} : split(remove_, ',')) {
      const auto found = find(id);
      if (found == members.end()) {
        return {Errc::kInvalid, "--remove: " + std::string(id) + " is not in the ring"};
      }
      members.erase(found);
    }
    for (const std::string_view id :
         add_.empty() ? std::vector<std::string_view>{} : split(add_, ',')) {
      if (Status status = membership::validate_node_id(id); !status) return status;
      if (find(id) != members.end()) {
        return {Errc::kInvalid, "--add: " + std::string(id) + " is in the ring already"};
      }
      members.push_back({NodeId(std::string(id))});
    }
    return Done{};
  }

  void print(Terminal& terminal, TopologyVersion version, const MovementPlan& plan) const {
    if (json_) {
      Json nodes = Json::array();
      for (const NodeMovement& node : plan.nodes) {
        nodes.push_back({{"id", node.id.value()},
                         {"primary_gained", to_fraction(node.primary_gained)},
                         {"primary_lost", to_fraction(node.primary_lost)},
                         {"copies_gained", to_fraction(node.copies_gained)},
                         {"copies_lost", to_fraction(node.copies_lost)}});
      }
      return terminal.line(dump({{"version", version.value()},
                                 {"primary_moved", to_fraction(plan.primary_moved)},
                                 {"copies_moved", to_fraction(plan.copies_moved)},
                                 {"nodes", std::move(nodes)}}));
    }
    terminal.line(percent(plan.primary_moved) +
                  " of the keys get another primary; copies to make: " +
                  percent(plan.copies_moved) + " of the keys");
    std::vector<std::vector<std::string>> table{
        {"ID", "PRIMARY GAINED", "PRIMARY LOST", "COPIES GAINED", "COPIES LOST"}};
    for (const NodeMovement& node : plan.nodes) {
      table.push_back({node.id.value(), percent(node.primary_gained), percent(node.primary_lost),
                       percent(node.copies_gained), percent(node.copies_lost)});
    }
    terminal.out << format_table(table);
  }

  ServerOptions server_;
  client::ServiceFilter services_;
  std::string action_;
  std::string key_;
  std::string add_;
  std::string remove_;
  std::optional<std::uint32_t> virtual_nodes_;
  std::optional<std::uint32_t> replication_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_ring_command() {
  return std::make_unique<RingCommand>();
}

}  // namespace muster::cli
