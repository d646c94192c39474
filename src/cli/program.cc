#include "cli/program.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/fill.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "platform/host.h"

namespace muster::cli {
namespace {

constexpr const char* kExample =
    "Example:\n"
    "  muster worker --arbiter file:///tmp/muster --id w1     take part in an election\n"
    "  muster leader --arbiter file:///tmp/muster             show the leader\n"
    "  muster run    --arbiter file:///tmp/muster --name cron -- cron -f    on one machine only\n"
    "  muster topology --server 127.0.0.1:9000                show the nodes of a cluster\n"
    "\n"
    "Every option can also come from the environment (MUSTER_ARBITER=…) or from a YAML file\n"
    "(--config FILE). The command line takes precedence over the environment, and the\n"
    "environment over the file.\n"
    "Exit codes: 0 done, 1 the answer is no, 3 unsafe store, 64 usage, 69 unreachable, 74 the\n"
    "output cannot be written; muster run --help lists those of muster run.\n";

/// Files that a command may have open at once: loops, store, output; with something to spare.
constexpr int kDescriptors = 64;
/// As kDescriptors, of one that goes on: 64 connections of --http, and what starts a command.
constexpr int kDescriptorsLasting = 160;

const std::string kVersion = std::string("muster ") + MUSTER_VERSION;

/// The commands with their parsers.
class Program {
 public:
  explicit Program(Terminal& terminal)
      : terminal_(terminal),
        app_("Elect leaders, run leader-only work, and follow a fleet of nodes", "muster") {
    prepare(app_, kExample);
    app_.set_version_flag("--version", kVersion, "Print the version and exit");
    app_.require_subcommand(0, 1);
    for (auto& [group, command] : all_commands()) {
      CLI::App& parser = *app_.add_subcommand(command->name(), command->summary());
      prepare(parser, command->example());
      command->declare(parser);
      parser.group(group);  // Afterwards: what is added to a parser takes its group over.
      if (command->command_line() != nullptr) show_command_line(parser);
      for (CLI::App* each : leaves(parser)) {
        add_text(*each, "--config", "FILE", config_, "YAML file with options");
      }
      commands_.push_back(std::move(command));
    }
    const char* other = "Other commands";
    version_ = app_.add_subcommand("version", "Print the version");
    version_->group(other);
    prepare(*version_, "Example:\n  muster version\n");
    help_ = app_.add_subcommand("help", "Print this help or the help of one command");
    help_->group(other);
    prepare(*help_, "Example:\n  muster help worker\n  muster help certs issue\n");
    help_->add_option("COMMAND", help_topic_, "Command whose help to print");
  }

  int run(const std::vector<std::string>& words) {
    // Ours end at the first --; what follows is for another program and not ours to read.
    const auto dashes = std::find(words.begin(), words.end(), "--");
    std::vector<std::string> ours(words.begin(), dashes);
    if (dashes != words.end()) tail_.emplace(dashes + 1, words.end());
    std::reverse(ours.begin(), ours.end());  // As CLI11 wants them.
    try {
      app_.parse(std::move(ours));
    } catch (const CLI::CallForHelp&) {
      terminal_.out << app_.help();
      return kDone;
    } catch (const CLI::CallForVersion& e) {
      terminal_.line(e.what());
      return kDone;
    } catch (const CLI::ArgumentMismatch& e) {
      return usage(mismatch(e.what()));
    } catch (const CLI::ParseError& e) {
      return usage(e.what());
    }
    const auto chosen = app_.get_subcommands();
    if (!app_.remaining().empty()) return unknown_word(app_.remaining().front());
    if (chosen.empty()) return usage("no command is given; muster help lists them");
    for (const CLI::App* each : {chosen[0], deepest(chosen[0])}) {
      if (!each->remaining().empty()) return unexpected(*each);
    }
    if (chosen[0] == help_) return help();
    if (chosen[0] == version_) {
      terminal_.line(kVersion);
      return kDone;
    }
    return run(*chosen[0]);
  }

 private:
  static void prepare(CLI::App& parser, const char* example) {
    parser.footer(std::string("\n") + example);
    format_help(parser);
    parser.set_help_flag("--help,-h", "Print this help and exit");
    // What is left over is judged here, where the nearest word can be named.
    parser.allow_extras();
  }

  /// The parsers that take options: of the command, or of each of its actions.
  static std::vector<CLI::App*> leaves(CLI::App& parser) {
    auto actions = parser.get_subcommands([](CLI::App*) { return true; });
    return actions.empty() ? std::vector{&parser} : actions;
  }
  /// What was chosen, down to the action if the command has any.
  static CLI::App* deepest(CLI::App* parser) {
    const auto actions = parser->get_subcommands();
    return actions.empty() ? parser : actions[0];
  }
  static std::string full_name(const CLI::App& parser) {
    const CLI::App* above = parser.get_parent();
    return above == nullptr ? parser.get_name() : full_name(*above) + " " + parser.get_name();
  }

  // CLI11 says "--id: 1 required ID missing" or "--id: At Most 1 required but received 2".
  static std::string mismatch(const std::string& what) {
    const std::string option = what.substr(0, what.find(':'));
    return what.ends_with("missing") ? option + " needs a value"
                                     : option + " is given more than once; keep one of them";
  }

  int run(CLI::App& parser) {
    CLI::App& leaf = *deepest(&parser);
    Status filled = refuse_slips(app_);
    if (filled) filled = fill_from_environment(leaf);
    if (filled && !config_.empty()) filled = fill_from_file(app_, leaf, config_);
    if (!filled) return usage(filled.error().message);
    for (const auto& command : commands_) {
      if (parser.get_name() != command->name()) continue;
      if (tail_ && !command->command_line()) return usage("this command takes no command after --");
      if (tail_) *command->command_line() = *tail_;
      const int descriptors = command->lasting() ? kDescriptorsLasting : kDescriptors;
      if (Status enough = need_descriptors(descriptors); !enough) {
        return fail(enough.error().message, kUnreachable);
      }
      if (command->lasting()) terminal_.prepare();
      std::optional<Progress> progress;
      if (terminal_.progress && !command->lasting()) progress.emplace(terminal_, full_name(leaf));
      const Result<int> result = command->run(terminal_);
      progress.reset();
      if (result) return *result;
      return fail(result.error().message, exit_code(result.error()));
    }
    return kUsage;
  }

  int help() {
    if (help_topic_.empty()) {
      app_.clear();  // Or CLI11 would explain the command that was chosen: this one.
      terminal_.out << app_.help();
      return kDone;
    }
    CLI::App* topic = &app_;
    std::string before;
    for (const std::string& word : help_topic_) {
      const auto every = [](CLI::App*) { return true; };
      std::vector<std::string> names;
      CLI::App* next = nullptr;
      for (CLI::App* each : topic->get_subcommands(every)) {
        names.push_back(each->get_name());
        if (each->get_name() == word) next = each;
      }
      if (next == nullptr) {
        const std::string near = did_you_mean(word, names);
        return usage("unknown command " + before + word +
                     (near.empty() ? "; muster help lists the commands" : near));
      }
      topic = next;
      before += word + " ";
    }
    terminal_.out << topic->help(full_name(*topic->get_parent()));
    return kDone;
  }

  int unknown_word(const std::string& word) {
    if (word.starts_with("-")) {
      return usage("unknown option " + word +
                   "; options follow the command, and muster help lists the commands");
    }
    std::vector<std::string> names{"help", "version"};
    for (const auto& command : commands_) names.emplace_back(command->name());
    const std::string near = did_you_mean(word, names);
    return usage("unknown command " + word +
                 (near.empty() ? "; muster help lists the commands" : near));
  }

  int unexpected(const CLI::App& parser) {
    const std::string word = parser.remaining().front();
    if (!word.starts_with("-")) {
      if (takes_command(parser)) {
        return usage("unexpected argument " + word + "; write the command after --");
      }
      std::vector<std::string> actions;
      for (const CLI::App* each : parser.get_subcommands([](const CLI::App*) { return true; })) {
        actions.push_back(each->get_name());
      }
      const std::string near = did_you_mean(word, actions);
      return usage(
          "unexpected argument " + word +
          (near.empty() ? "; " + full_name(parser) + " --help shows what it takes" : near));
    }
    const std::string name = word.substr(0, word.find('='));
    std::string bare = name;
    while (bare.starts_with("-")) bare.erase(0, 1);
    const std::string near = did_you_mean(bare, option_names(parser), "--");
    return usage("unknown option " + name +
                 (near.empty() ? "; " + full_name(parser) + " --help lists them" : near));
  }

  [[nodiscard]] bool takes_command(const CLI::App& parser) const {
    return std::any_of(commands_.begin(), commands_.end(), [&](const auto& each) {
      return parser.get_name() == each->name() && each->command_line() != nullptr;
    });
  }

  int usage(const std::string& sentence) { return fail(sentence, kUsage); }

  int fail(const std::string& sentence, int code) {
    const auto chosen = app_.get_subcommands();
    // After whatever was logged before.
    terminal_.note((chosen.empty() ? "muster" : full_name(*deepest(chosen[0]))) + ": " + sentence +
                   "\n");
    return code;
  }

  Terminal& terminal_;
  std::vector<std::unique_ptr<Command>> commands_;
  CLI::App app_;
  CLI::App* help_ = nullptr;
  std::string config_;
  CLI::App* version_ = nullptr;
  std::vector<std::string> help_topic_;
  std::optional<std::vector<std::string>> tail_;  ///< What follows --.
};

}  // namespace

int run(const std::vector<std::string>& words, Terminal& terminal) {
  const int code = Program(terminal).run(words);
  const Status written = terminal.finish();
  if (written) return code;
  terminal.err << "muster: " + written.error().message + "\n";
  return kOutputLost;
}

}  // namespace muster::cli
