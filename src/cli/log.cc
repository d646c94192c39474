#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/cluster_machine.h"
#include "cli/commands.h"
#include "cli/engine_options.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/topology_text.h"
#include "log/archive.h"
#include "log/inspect.h"
#include "log/keys.h"
#include "platform/system_clock.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;
using rlog::Finding;
using rlog::Inspection;

const rlog::Keys kKeys{rlog::kServerLog};

/// A replica of the log for as long as a repair takes.
class Rebuild {
 public:
  Rebuild(OpenEngine& engine, Duration timeout, bool use_previous) : engine_(engine) {
    rlog::Options options;
    options.prefix = rlog::kServerLog;
    options.request_timeout = timeout;
    options.use_previous_snapshot = use_previous;
    engine_.run([&] {
      log_ = std::make_unique<rlog::ReplicatedLog>(
          options, rlog::Surroundings{engine_.loop(), engine_.store(), system_random(), machine_,
                                      [](const rlog::Event&) {}});
    });
  }
  ~Rebuild() {
    engine_.run([this] { log_.reset(); });
  }
  Rebuild(const Rebuild&) = delete;
  Rebuild& operator=(const Rebuild&) = delete;

  /// Two new snapshots, so that the spare one is whole, too. Each needs an entry that the one
  /// before has not: a barrier. A server that leads meanwhile is deposed by it and leads again.
  Status run() {
    Status done = engine_.await<Done>([this](Callback<Done> then) { log_->open(std::move(then)); });
    for (int round = 0; done && round < 2; ++round) {
      done = engine_.await<Done>([this](Callback<Done> then) {
        log_->lead(next(log_->position().epoch), Incarnation(system_random().uuid()),
                   std::move(then));
      });
      if (!done) break;
      const auto compacted = engine_.await<rlog::Index>(
          [this](Callback<rlog::Index> then) { log_->compact(std::move(then)); });
      if (!compacted) return compacted.error();
      done = engine_.await<Done>([this](Callback<Done> then) { log_->retire(std::move(then)); });
    }
    return done;
  }

 private:
  OpenEngine& engine_;
  ClusterMachine machine_;
  std::unique_ptr<rlog::ReplicatedLog> log_;
};

class LogCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "log"; }
  [[nodiscard]] const char* summary() const override {
    return "Inspect and repair the log of an engine";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster log inspect --engine file:///var/lib/muster\n"
           "  muster log repair  --engine file:///var/lib/muster --backup muster.backup\n"
           "\n"
           "inspect reads every object of the servers' log, compares it with its digests in "
           "other\n"
           "objects, and exits with 1 if an object is damaged or missing; a log that is being "
           "written\n"
           "may look damaged once. repair restores a damaged entry from a backup if the "
           "neighbouring\n"
           "entries prove it, and rebuilds a damaged snapshot from the one before. It changes no "
           "intact\n"
           "object.\n";
  }

  void declare(CLI::App& app) override {
    add_argument(app, "ACTION", action_, "inspect or repair");
    engine_.declare(app);
    add_text(app, "--backup", "FILE", backup_,
             "With repair: backup file to take lost entries from");
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (action_ != "inspect" && action_ != "repair") {
      return {Errc::kInvalid, action_.empty()
                                  ? "say what to do: inspect or repair"
                                  : "\"" + action_ + "\" is neither inspect nor repair"};
    }
    if (action_ == "inspect" && !backup_.empty()) {
      return {Errc::kInvalid, "--backup belongs to repair"};
    }
    if (!backup_.empty()) {
      if (Status whole = rlog::check_archive(backup_); !whole) return whole.error();
    }
    const auto engine = engine_.open(ExistingStore::kRequired);
    if (!engine) return engine.error();
    auto seen = inspect(**engine);
    if (seen && action_ == "repair" && !seen->findings.empty()) {
      if (Status repaired = repair(terminal, **engine, *seen); !repaired) {
        return refused(terminal, "log repair", repaired.error());
      }
      seen = inspect(**engine);
    }
    if (!seen) {
      // What the store holds is the answer; that it does not answer is not.
      return seen.is(Errc::kCorrupt)
                 ? refused(terminal, "log " + action_, {Errc::kConflict, seen.error().message})
                 : refused(terminal, "log " + action_, seen.error());
    }
    report(terminal, *seen);
    return seen->findings.empty() ? kDone : kNo;
  }

 private:
  Result<Inspection> inspect(OpenEngine& engine) const {
    std::unique_ptr<rlog::Inspect> inspection;
    auto result = engine.await<Inspection>([&](Callback<Inspection> done) {
      inspection = std::make_unique<rlog::Inspect>(engine.loop(), system_random(),
                                                   engine.place(engine_.timeout));
      inspection->start(std::move(done));
    });
    engine.run([&] { inspection.reset(); });
    return result;
  }

  Status repair(Terminal& terminal, OpenEngine& engine, const Inspection& seen) const {
    std::map<Key, rlog::Index> entries;
    bool newer_damaged = false;
    for (const Finding& finding : seen.findings) {
      if (const auto index = kKeys.entry_of(finding.object)) {
        entries[finding.object] = *index;
      } else if (const auto set = kKeys.set_of(finding.object)) {
        const auto& latest = seen.manifest.latest;
        newer_damaged |= latest && set->index == latest->position.index;
      }
    }
    if (Status done = put_back(terminal, engine, seen, entries); !done) return done;
    if (Status done = Rebuild(engine, engine_.timeout, newer_damaged).run(); !done) return done;
    terminal.err << "muster log: two new snapshots were made"
                 << (newer_damaged ? ", from the one before the damaged one\n" : "\n");
    return Done{};
  }

  /// Entries that a snapshot covers need no copy: they go with the next compactions, unless that
  /// snapshot is damaged, too.
  Status put_back(Terminal& terminal, OpenEngine& engine, const Inspection& seen,
                  const std::map<Key, rlog::Index>& entries) const {
    if (entries.empty()) return Done{};
    std::map<Key, std::string> copies;
    if (!backup_.empty()) {
      rlog::ArchiveReader reader(rlog::archive_source(backup_));
      for (auto item = reader.next(); item && !item->end; item = reader.next()) {
        const Key key = rlog::kServerLog + item->key;
        if (entries.contains(key)) copies[key] = std::move(item->body);
      }
    }
    for (const auto& [key, index] : entries) {
      const auto copy = copies.find(key);
      if (copy == copies.end()) {
        const auto& latest = seen.manifest.latest;
        if (latest && index <= latest->position.index) continue;
        return {Errc::kConflict, key +
                                     " cannot be repaired without a copy: give --backup FILE, "
                                     "with a backup made after it was written"};
      }
      if (Status done = put_back(engine, index, copy->second); !done) {
        // The entry after a damaged one is reported with it, and is whole.
        if (done.is(Errc::kUnchanged)) continue;
        return Error{Errc::kConflict, key + ": " + done.error().message};
      }
      terminal.err << "muster log: " + key + " is restored from " + backup_ + "\n";
    }
    return Done{};
  }

  Status put_back(OpenEngine& engine, rlog::Index index, const std::string& copy) const {
    std::unique_ptr<rlog::RepairEntry> one;
    Status done = engine.await<Done>([&](Callback<Done> then) {
      one = std::make_unique<rlog::RepairEntry>(engine.loop(), system_random(),
                                                engine.place(engine_.timeout), index, copy);
      one->start(std::move(then));
    });
    engine.run([&] { one.reset(); });
    return done;
  }

  void report(Terminal& terminal, const Inspection& seen) const {
    const auto& latest = seen.manifest.latest;
    const std::uint64_t snapshot = latest ? latest->position.index.value() : 0;
    // The newest entries may all be in the snapshot.
    const std::uint64_t head = std::max(seen.head.value(), snapshot);
    if (json_) {
      Json findings = Json::array();
      for (const Finding& finding : seen.findings) {
        findings.push_back(
            {{"object", finding.object}, {"problem", finding.problem}, {"remedy", finding.remedy}});
      }
      return terminal.line(dump({{"log_id", seen.manifest.log_id},
                                 {"head", head},
                                 {"snapshot", snapshot},
                                 {"objects", seen.objects},
                                 {"findings", std::move(findings)}}));
    }
    for (const Finding& finding : seen.findings) {
      terminal.line(terminal.red(finding.object + ": " + finding.problem) + "; " + finding.remedy);
    }
    const std::string what = "log " + seen.manifest.log_id + ": up to entry " +
                             std::to_string(head) + ", snapshot at " + std::to_string(snapshot) +
                             ", " + std::to_string(seen.objects) + " objects read";
    terminal.line(seen.findings.empty() ? terminal.green("whole: ") + what : what);
  }

  EngineOptions engine_;
  std::string action_;
  std::string backup_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_log_command() {
  return std::make_unique<LogCommand>();
}

}  // namespace muster::cli
