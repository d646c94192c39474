#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/text.h"
#include "cli/arbiter_options.h"
#include "cli/commands.h"
#include "cli/decision_text.h"
#include "cli/event_text.h"
#include "cli/exit_code.h"
#include "cli/leader_answer.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/topology_text.h"
#include "client/requests.h"
#include "elector/control.h"
#include "store/url.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

/// What the store tells about one namespace, in sentences.
struct Story {
  std::vector<std::string> sentences;
  std::vector<client::DecisionRecord> history;
  bool known = false;  ///< There is a state.
};

std::string ago(const std::optional<Duration>& age) {
  return age ? ", " + format_duration(std::chrono::seconds(to_ms(*age) / 1000)) + " ago" : "";
}

void tell_state(const Object& object, Story& story) {
  const auto state = decode_whole(object, decode_leader_state);
  if (!state) {
    story.sentences.push_back("state.json cannot be read: " + state.error().message);
    return;
  }
  const std::string epoch = ", epoch " + std::to_string(state->epoch.value());
  if (state->leader) {
    story.sentences.push_back(state->leader->value() + " leads" + epoch + ", elected at " +
                              format_time(state->elected_at) +
                              (state->elected_by.empty() ? "" : " by " + state->elected_by));
    story.sentences.push_back("it last renewed at " + format_time(state->written_at) +
                              ago(object.age) + "; its lease is " + format_duration(state->lease));
    const LeaderAnswer answer = judge(*state, object.age);
    if (answer.looks_expired) {
      story.sentences.push_back(
          "by the store's clock its lease has expired; `muster leader` confirms that");
    }
  } else {
    story.sentences.push_back("nobody leads" + epoch);
  }
  if (state->released) {
    story.sentences.push_back(state->released->worker.value() + " gave epoch " +
                              std::to_string(state->released->epoch.value()) +
                              " back cleanly, so its successor did not have to wait for the lease");
  }
  if (state->preferred) {
    story.sentences.push_back("it was to be handed over to " + state->preferred->value());
  }
  story.sentences.push_back("the leader saw " + std::to_string(state->workers.size()) +
                            " live workers");
}

void tell_metadata(const Object& object, Story& story) {
  const auto metadata = decode_whole(object, decode_metadata);
  if (!metadata) {
    story.sentences.push_back("metadata.json cannot be read: " + metadata.error().message);
    return;
  }
  story.sentences.push_back("the election was created at " + format_time(metadata->created_at) +
                            (metadata->creator.empty() ? "" : " by " + metadata->creator) +
                            "; no epoch below " + std::to_string(metadata->epoch_floor.value()) +
                            " can be used again");
}

void tell_control(const Object& object, Story& story) {
  const auto control = decode_whole(object, decode_control);
  if (!control) {
    story.sentences.push_back("control.json cannot be read: " + control.error().message);
    return;
  }
  const ControlCommand& command = control->command;
  std::string text = std::string("an operator asked to ") + to_string(command.kind) + " at " +
                     format_time(command.issued_at) + ", for epoch " +
                     std::to_string(command.epoch.value());
  if (command.worker) text += ", naming " + command.worker->value();
  text += control->ack && control->ack->id == command.id
              ? "; " + control->ack->by.value() + " obeyed at " + format_time(control->ack->at)
              : "; no node has obeyed it";
  story.sentences.push_back(text);
}

class ExplainCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "explain"; }
  [[nodiscard]] const char* summary() const override {
    return "Explain why a node leads an election";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster explain --arbiter muster://127.0.0.1:9000 --name jobs\n"
           "\n"
           "Describes the contents of state.json, metadata.json, control.json and the worker "
           "files.\n"
           "musterd also keeps a history of elections; other stores hold only the present. For a "
           "node:\n"
           "muster node explain ID.\n";
  }

  void declare(CLI::App& app) override {
    arbiter_.declare(app);
    arbiter_.declare_name(app, "default");
    arbiter_.declare_timeout(app);
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    const auto hub = arbiter_.open(ExistingStore::kRequired);
    if (!hub) return hub.error();
    Story story;
    if (Status read = look((*hub)->store(), story); !read) return read.error();
    if (Status read = history(story); !read) return read.error();
    if (json_) {
      Json decisions = Json::array();
      for (const client::DecisionRecord& each : story.history) decisions.push_back(to_json(each));
      terminal.line(dump({{"namespace", arbiter_.name_space},
                          {"sentences", story.sentences},
                          {"decisions", std::move(decisions)}}));
    } else {
      terminal.out << timeline(story.history);
      for (const std::string& sentence : story.sentences) terminal.line(sentence);
    }
    return story.known ? kDone : kNo;
  }

 private:
  Status look(SyncStore& store, Story& story) const {
    const NamespaceKeys keys(arbiter_.name_space);
    const auto state = store.get(keys.state);
    if (!state && !state.is(Errc::kNotFound)) return state.error();
    if (state) {
      story.known = true;
      tell_state(*state, story);
    } else {
      story.sentences.push_back("there has never been a leader in this election");
    }
    const auto metadata = store.get(keys.metadata);
    if (!metadata && !metadata.is(Errc::kNotFound)) return metadata.error();
    if (metadata) tell_metadata(*metadata, story);
    const auto control = store.get(keys.control);
    if (!control && !control.is(Errc::kNotFound)) return control.error();
    if (control) tell_control(*control, story);
    const auto workers = store.list_all(keys.workers);
    if (!workers) return workers.error();
    story.sentences.push_back(std::to_string(workers->objects.size()) +
                              " worker files are in the store");
    return Done{};
  }

  Status history(Story& story) const {
    const auto url = Url::parse(arbiter_.url);
    if (!url || url->scheme != "muster") return Done{};
    ServerOptions servers;
    servers.servers.clear();
    for (const std::string& host : url->hosts) {
      servers.servers += (servers.servers.empty() ? "" : ",") + host;
    }
    servers.tls = {arbiter_.hub.ca_file, arbiter_.hub.cert_file, arbiter_.hub.key_file};
    const auto client = servers.open();
    if (!client) return client.error();
    std::string prefix = url->path;
    if (!prefix.empty() && !prefix.ends_with("/")) prefix += "/";
    auto told = (*client)->call(client::Explain{"namespace=" + prefix + arbiter_.name_space},
                                servers.call());
    if (!told) return told.error();
    story.history = std::move(told->decisions);
    return Done{};
  }

  ArbiterOptions arbiter_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() {
  return std::make_unique<ExplainCommand>();
}

}  // namespace muster::cli
