#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/arbiter_options.h"
#include "cli/commands.h"
#include "cli/election_list.h"
#include "cli/exit_code.h"
#include "cli/options.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(const std::optional<Duration>& d) {
  return d ? Json(to_ms(*d)) : Json(nullptr);
}

std::string duration_text(const std::optional<Duration>& d) {
  return d ? format_duration(std::chrono::milliseconds(to_ms(*d))) : "-";
}

class ElectionsCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "elections"; }
  [[nodiscard]] const char* summary() const override {
    return "List the elections of a store with their leaders";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster elections --arbiter file:///tmp/muster\n"
           "  NAME     LEADER  EPOCH  LEASE LEFT  CANDIDATES\n"
           "  cron     n1      4      5120ms      3\n"
           "  default  -       2      -           -\n"
           "\n"
           "Lists every election in the store: those of muster run, muster worker and the "
           "library, and\n"
           "\"musterd\" if servers elect their leader there. A muster:// store lists the "
           "elections of its\n"
           "clients; muster health shows which server leads. Candidates are as the leader last "
           "wrote\n"
           "them; lease left is by the store's clock.\n";
  }

  void declare(CLI::App& app) override {
    arbiter_.declare(app);
    arbiter_.declare_timeout(app);
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    const auto hub = arbiter_.open(ExistingStore::kRequired);
    if (!hub) return hub.error();
    const auto rows = read_elections((*hub)->store());
    if (!rows) return rows.error();
    if (json_) {
      terminal.line(to_json(*rows));
    } else {
      terminal.out << to_table(*rows);
    }
    return kDone;
  }

 private:
  static std::string to_json(const std::vector<ElectionRow>& rows) {
    Json elections = Json::array();
    for (const ElectionRow& row : rows) {
      const auto& leader = row.answer.leader;
      elections.push_back({{"name", row.name},
                           {"leader", leader ? Json(leader->value()) : Json(nullptr)},
                           {"epoch", row.answer.epoch.value()},
                           {"leaseLeftMs", number_or_null(row.answer.lease_left)},
                           {"ageMs", number_or_null(row.answer.age)},
                           {"confirmed", row.answer.confirmed},
                           {"candidates", row.candidates ? Json(*row.candidates) : Json(nullptr)},
                           {"problem", row.problem.empty() ? Json(nullptr) : Json(row.problem)}});
    }
    return Json{{"elections", std::move(elections)}}.dump(-1, ' ', false,
                                                          Json::error_handler_t::replace);
  }

  static std::string to_table(const std::vector<ElectionRow>& rows) {
    if (rows.empty()) return "no elections in this store\n";
    std::vector<std::vector<std::string>> table{
        {"NAME", "LEADER", "EPOCH", "LEASE LEFT", "CANDIDATES"}};
    for (const ElectionRow& row : rows) {
      const auto& leader = row.answer.leader;
      table.push_back({row.name,
                       !row.problem.empty() ? "unknown: " + row.problem
                       : leader             ? leader->value()
                                            : "-",
                       std::to_string(row.answer.epoch.value()),
                       duration_text(row.answer.lease_left),
                       row.candidates ? std::to_string(*row.candidates) : "-"});
    }
    return format_table(table);
  }

  ArbiterOptions arbiter_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_elections_command() {
  return std::make_unique<ElectionsCommand>();
}

}  // namespace muster::cli
