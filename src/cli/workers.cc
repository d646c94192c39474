#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "cli/arbiter_options.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/leader_answer.h"
#include "cli/options.h"
#include "cli/worker_table.h"
#include "platform/signals.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Everything that a look at one namespace brings.
struct Fleet {
  LeaderAnswer leader = nobody_yet();
  std::vector<WorkerId> published;
  Duration worker_timeout = CoordinatorOptions{}.worker_timeout;
  std::vector<WorkerFile> files;
};

Status read_state(SyncStore& store, const NamespaceKeys& keys, Fleet& fleet) {
  if (const auto object = store.get(keys.metadata)) {
    const auto metadata = decode_whole(*object, decode_metadata);
    if (metadata && metadata->worker_timeout > Duration(0)) {
      fleet.worker_timeout = metadata->worker_timeout;
    }
  } else if (!object.is(Errc::kNotFound)) {
    return object.error();
  }
  const auto object = store.get(keys.state);
  if (object.is(Errc::kNotFound)) return Done{};
  if (!object) return object.error();
  const auto state = decode_whole(*object, decode_leader_state);
  if (!state) return Done{};  // Who is in can be told without it.
  fleet.leader = judge(*state, object->age);
  fleet.published = state->workers;
  return Done{};
}

// A few at a time: a fleet of thousands would take minutes one after another.
void read_records(SyncStore& store, const NamespaceKeys& keys, std::vector<WorkerFile>& files) {
  constexpr std::size_t kReaders = 16;
  std::atomic<std::size_t> next{0};
  const auto read = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      // A file that went away, or holds something else, is shown without details.
      const auto object = store.get(keys.worker(files[i].id));
      const auto record =
          object ? decode_whole(*object, decode_worker) : Result<WorkerRecord>(object.error());
      if (record) files[i].record = *record;
    }
  };
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < std::min(kReaders, files.size()); ++i) readers.emplace_back(read);
  for (std::thread& reader : readers) reader.join();
}

Result<Fleet> read_fleet(SyncStore& store, const NamespaceKeys& keys) {
  Fleet fleet;
  if (Status status = read_state(store, keys, fleet); !status) return status.error();
  const auto listed = store.list_all(keys.workers);
  if (!listed) return listed.error();
  for (const ListedObject& object : listed->objects) {
    if (auto id = keys.worker_of(object.key)) fleet.files.push_back({*id, object.age, {}});
  }
  read_records(store, keys, fleet.files);
  return fleet;
}

std::string age_text(const std::optional<Duration>& age) {
  return age ? format_duration(std::chrono::milliseconds(to_ms(*age))) : "-";
}

class WorkersCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "workers"; }
  [[nodiscard]] const char* summary() const override {
    return "List the workers of an election and their states";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster workers --arbiter file:///tmp/muster\n"
           "  ID  STATE  CHANGED  INCARNATION                           POD\n"
           "  w1  leads  3207ms   0e0ff6a4-5b1c-4b1e-a8bb-9ad5f3b4c1d2  host-7\n"
           "\n"
           "States: leads, live, joining (the leader has not listed it yet), silent, stopped, and "
           "unknown\n"
           "if the store has no clock. The list is a few seconds old. With --watch it runs until "
           "SIGTERM\n"
           "or SIGINT: it redraws the screen once a second on a terminal and prints a line for "
           "each\n"
           "change elsewhere.\n";
  }

  void declare(CLI::App& app) override {
    arbiter_.declare(app);
    arbiter_.declare_name(app, "default");
    arbiter_.declare_timeout(app);
    add_flag(app, "--watch", watch_, "Follow changes until interrupted");
    add_flag(app, "--json", json_, "Print one JSON object; JSON lines with --watch");
  }

  [[nodiscard]] bool lasting() const override { return watch_; }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (watch_) return show(terminal);
    const auto hub = arbiter_.open(ExistingStore::kRequired);
    if (!hub) return hub.error();
    const auto fleet = read_fleet((*hub)->store(), NamespaceKeys(arbiter_.name_space));
    if (!fleet) return fleet.error();
    const auto rows = judged(*fleet);
    if (json_) {
      terminal.line(to_json(*fleet, rows));
    } else {
      terminal.out << to_table(rows);
    }
    return kDone;
  }

 private:
  static std::vector<WorkerRow> judged(const Fleet& fleet) {
    return judge_workers(fleet.files, fleet.leader.leader, fleet.published, fleet.worker_timeout);
  }

  Result<int> show(Terminal& terminal) {
    StopSignals signals;  // Before the store's thread.
    const auto hub = arbiter_.open(ExistingStore::kRequired);
    if (!hub) return hub.error();
    return follow(terminal, signals, json_, [&]() -> Result<Look> {
      const auto fleet = read_fleet((*hub)->store(), NamespaceKeys(arbiter_.name_space));
      if (!fleet) return fleet.error();
      const auto rows = judged(*fleet);
      Look look{fleet->leader.to_text(arbiter_.name_space) + "\n\n" + to_table(rows), {}, {}};
      look.key = std::to_string(fleet->leader.epoch.value());
      for (const WorkerRow& row : rows) look.key += ", " + row.id.value() + " " + row.state;
      look.line = json_ ? to_json(*fleet, rows) : "epoch " + look.key;
      return look;
    });
  }

  [[nodiscard]] std::string to_json(const Fleet& fleet, const std::vector<WorkerRow>& rows) const {
    const auto& leader = fleet.leader.leader;
    Json workers = Json::array();
    for (const WorkerRow& row : rows) {
      workers.push_back(
          {{"id", row.id.value()},
           {"state", row.state},
           {"ageMs", row.age ? Json(to_ms(*row.age)) : Json(nullptr)},
           {"incarnation",
            row.incarnation.value().empty() ? Json(nullptr) : Json(row.incarnation.value())},
           {"pod", row.pod}});
    }
    const Json json = {{"namespace", arbiter_.name_space},
                       {"leader", leader ? Json(leader->value()) : Json(nullptr)},
                       {"epoch", fleet.leader.epoch.value()},
                       {"workers", std::move(workers)}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  [[nodiscard]] std::string to_table(const std::vector<WorkerRow>& rows) const {
    if (rows.empty()) return "no workers in the election " + arbiter_.name_space + "\n";
    std::vector<std::vector<std::string>> table{{"ID", "STATE", "CHANGED", "INCARNATION", "POD"}};
    for (const WorkerRow& row : rows) {
      const std::string incarnation = row.incarnation.value();
      table.push_back({row.id.value(), row.state, age_text(row.age),
                       incarnation.empty() ? "-" : incarnation, row.pod});
    }
    return format_table(table);
  }

  ArbiterOptions arbiter_;
  bool watch_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_workers_command() {
  return std::make_unique<WorkersCommand>();
}

}  // namespace muster::cli
