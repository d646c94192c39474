#include <algorithm>
#include <nlohmann/json.hpp>

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
    return "Who holds a key; what a change would move";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster ring lookup hello\n"
           "  muster ring plan --add o7,o8 --remove o1\n"
           "\n"
           "lookup prints the nodes that hold the key, the primary first, and exits with 1 when\n"
           "there is none. plan is exact, not sampled: shares are of all possible keys. Added\n"
           "nodes count with weight 1.\n";
  }

  void declare(CLI::App& app) override {
    add_argument(app, "ACTION", action_, "lookup or plan");
    add_argument(app, "KEY", key_, "With lookup: the key");
    server_.declare(app);
    add_text(app, "--add", "ID,…", add_, "With plan: nodes that would come");
    add_text(app, "--remove", "ID,…", remove_, "With plan: nodes that would go");
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (action_ != "lookup" && action_ != "plan") {
      return {Errc::kInvalid, action_.empty()
                                  ? "say what to do: lookup KEY, or plan --add ID --remove ID"
                                  : "\"" + action_ + "\" is neither lookup nor plan"};
    }
    const bool lookup = action_ == "lookup";
    if (lookup == key_.empty()) {
      return {Errc::kInvalid, lookup ? "say which key: muster ring lookup KEY"
                                     : "plan takes no key, only --add and --remove"};
    }
    if (lookup != (add_.empty() && remove_.empty())) {
      return {Errc::kInvalid, lookup ? "--add and --remove belong to plan"
                                     : "say what would change, with --add ID or --remove ID"};
    }
    const auto client = server_.open();
    if (!client) return client.error();
    const auto topology = (*client)->get_topology(false, server_.call());
    if (!topology) return refused(terminal, name(), topology.error());
    return lookup ? look_up(terminal, *topology) : plan(terminal, *topology);
  }

 private:
  Result<int> look_up(Terminal& terminal, const client::TopologyImage& topology) const {
    const client::TopologyView view(topology);
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
    std::vector<RingMember> members;
    for (const client::Node& node : topology.nodes) {
      if (membership::in_ring(node.state)) members.push_back({node.id, node.weight});
    }
    const RingConfig config{std::max<std::uint32_t>(1, topology.ring.virtual_nodes),
                            std::max<std::uint32_t>(1, topology.ring.replication)};
    const HashRing before(members, config);
    if (Status status = change(members); !status) return status.error();
    const MovementPlan plan = movement_plan(before, HashRing(std::move(members), config));
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
  std::string action_;
  std::string key_;
  std::string add_;
  std::string remove_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_ring_command() {
  return std::make_unique<RingCommand>();
}

}  // namespace muster::cli
