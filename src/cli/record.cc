#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/commands.h"
#include "cli/decision_text.h"
#include "cli/event_text.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/topology_text.h"
#include "client/requests.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Recording {
  client::TopologyImage topology;
  std::vector<client::DecisionRecord> decisions;
  std::uint64_t newest = 0;
};

class RecordCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "record"; }
  [[nodiscard]] const char* summary() const override {
    return "Record the servers' decisions and their reasons in a file";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster record decisions.jsonl\n"
           "\n"
           "The file has one JSON object per line: a head, every decision that the servers still "
           "know,\n"
           "and the final states of all nodes. In a source tree, the simulator replays it:\n"
           "build/bin/sim_membership --replay FILE.\n";
  }

  void declare(CLI::App& app) override {
    add_argument(app, "FILE", file_, "File to write; an existing one is replaced");
    server_.declare(app);
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (file_.empty()) return {Errc::kInvalid, "name the file to write: muster record FILE"};
    const auto client = server_.open();
    if (!client) return client.error();
    const auto recording = take(**client);
    if (!recording) return refused(terminal, name(), recording.error());
    if (Status written = write(*recording); !written) return written.error();
    terminal.line(json_ ? dump({{"file", file_},
                                {"decisions", recording->decisions.size()},
                                {"nodes", recording->topology.nodes.size()}})
                        : counted(recording->decisions.size(), "decision") + " about " +
                              counted(recording->topology.nodes.size(), "node") + " in " + file_);
    return kDone;
  }

 private:
  static std::string counted(std::size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  }

  // Nodes and decisions must be of one moment: asked again when something came between.
  Result<Recording> take(client::Client& client) const {
    for (int attempt = 0; attempt < 10; ++attempt) {
      Recording recording;
      auto topology = client.call(client::GetTopology{true}, server_.call());
      if (!topology) return topology.error();
      recording.topology = std::move(*topology);
      TopologyVersion version;
      for (std::uint64_t since = 0;;) {
        auto page = client.call(client::Explain{{}, since}, server_.call());
        if (!page) return page.error();
        version = page->version;
        recording.newest = page->newest;
        if (page->decisions.empty()) break;
        since = page->decisions.back().seq;
        std::move(page->decisions.begin(), page->decisions.end(),
                  std::back_inserter(recording.decisions));
      }
      if (version == recording.topology.version) return recording;
    }
    return {Errc::kUnavailable, "the nodes change too fast to record them; try again"};
  }

  [[nodiscard]] Status write(const Recording& recording) const {
    std::ofstream out(file_, std::ios::trunc);
    out << dump({{"record", 1},
                 {"version", recording.topology.version.value()},
                 {"newest", recording.newest}})
        << "\n";
    for (const client::DecisionRecord& each : recording.decisions) {
      out << dump(to_json(each)) << "\n";
    }
    Json nodes = Json::array();
    for (const client::Node& node : recording.topology.nodes) {
      nodes.push_back({{"id", node.id.value()}, {"state", to_string(node.state)}});
    }
    out << dump({{"nodes", std::move(nodes)}}) << "\n";
    out.close();
    if (!out) return {Errc::kInvalid, "cannot write " + file_ + "; check the path and the disk"};
    return Done{};
  }

  ServerOptions server_;
  std::string file_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_record_command() {
  return std::make_unique<RecordCommand>();
}

}  // namespace muster::cli
