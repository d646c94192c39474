#include "cli/program.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/fill.h"
#include "cli/options.h"

namespace muster::cli {
namespace {

constexpr const char* kExample =
    "Example:\n"
    "  muster worker --arbiter file:///tmp/muster --id w1     take part\n"
    "  muster leader --arbiter file:///tmp/muster             who leads?\n"
    "  muster topology --server 127.0.0.1:9000                who is in, as musterd knows it\n"
    "\n"
    "Every option can also come from the environment (MUSTER_ARBITER=…) or from a YAML file\n"
    "(--config FILE); the command line wins over the environment, and that over the file.\n"
    "Exit codes: 0 done, 1 the answer is no, 3 unsafe store, 64 usage, 69 unreachable.\n";

/// The commands with their parsers.
class Program {
 public:
  explicit Program(Terminal& terminal)
      : terminal_(terminal), app_("Who is in, who leads, is this work still allowed?", "muster") {
    prepare(app_, kExample);
    app_.set_version_flag("--version", std::string("muster ") + MUSTER_VERSION,
                          "Print the version and exit");
    app_.require_subcommand(0, 1);
    for (auto& command : all_commands()) {
      CLI::App& parser = *app_.add_subcommand(command->name(), command->summary());
      prepare(parser, command->example());
      command->declare(parser);
      add_text(parser, "--config", "FILE", config_, "A YAML file with options of this and others");
      commands_.push_back(std::move(command));
    }
    help_ = app_.add_subcommand("help", "Print this, or the help of one command");
    prepare(*help_, "Example:\n  muster help worker\n");
    help_->add_option("COMMAND", help_topic_, "The command to explain");
  }

  int run(const std::vector<std::string>& words) {
    try {
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
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
    if (!chosen[0]->remaining().empty()) return unexpected(*chosen[0]);
    if (chosen[0] == help_) return help();
    return run(*chosen[0]);
  }

 private:
  static void prepare(CLI::App& parser, const char* example) {
    parser.footer(std::string("\n") + example);
    parser.set_help_flag("--help,-h", "Print this help and exit");
    // What is left over is judged here, where the nearest word can be named.
    parser.allow_extras();
  }

  // CLI11 says "--id: 1 required ID missing" or "--id: At Most 1 required but received 2".
  static std::string mismatch(const std::string& what) {
    const std::string option = what.substr(0, what.find(':'));
    return what.ends_with("missing") ? option + " needs a value"
                                     : option + " is given more than once; keep one of them";
  }

  int run(CLI::App& parser) {
    Status filled = fill_from_environment(parser);
    if (filled && !config_.empty()) filled = fill_from_file(app_, parser, config_);
    if (!filled) return usage(filled.error().message);
    for (const auto& command : commands_) {
      if (parser.get_name() != command->name()) continue;
      const Result<int> result = command->run(terminal_);
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
    const auto topic =
        app_.get_subcommands([this](CLI::App* each) { return each->get_name() == help_topic_; });
    if (topic.empty()) return unknown_word(help_topic_);
    terminal_.out << topic[0]->help(app_.get_name());
    return kDone;
  }

  int unknown_word(const std::string& word) {
    if (word.starts_with("-")) {
      return usage("unknown option " + word +
                   "; options follow the command, and muster help lists the commands");
    }
    std::vector<std::string> names{"help"};
    for (const auto& command : commands_) names.emplace_back(command->name());
    const std::string near = did_you_mean(word, names);
    return usage("unknown command " + word +
                 (near.empty() ? "; muster help lists the commands" : near));
  }

  int unexpected(const CLI::App& parser) {
    const std::string word = parser.remaining().front();
    if (!word.starts_with("-")) {
      return usage("unexpected argument " + word + "; muster " + parser.get_name() +
                   " --help shows what it takes");
    }
    const std::string name = word.substr(0, word.find('='));
    std::string bare = name;
    while (bare.starts_with("-")) bare.erase(0, 1);
    const std::string near = did_you_mean(bare, option_names(parser), "--");
    return usage("unknown option " + name +
                 (near.empty() ? "; muster " + parser.get_name() + " --help lists them" : near));
  }

  int usage(const std::string& sentence) { return fail(sentence, kUsage); }

  int fail(const std::string& sentence, int code) {
    const auto chosen = app_.get_subcommands();
    terminal_.err << "muster" << (chosen.empty() ? "" : " " + chosen[0]->get_name()) << ": "
                  << sentence << '\n';
    return code;
  }

  Terminal& terminal_;
  std::vector<std::unique_ptr<Command>> commands_;
  CLI::App app_;
  CLI::App* help_ = nullptr;
  std::string config_;
  std::string help_topic_;
};

}  // namespace

int run(const std::vector<std::string>& words, Terminal& terminal) {
  const int code = Program(terminal).run(words);
  if (terminal.out.flush()) return code;
  terminal.err << "muster: cannot write to standard output; its reader has gone\n";
  return kOutputLost;
}

}  // namespace muster::cli
