#include "cli/fill.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/text.h"
#include "platform/process.h"
#include "platform/settings_file.h"
#include "platform/whole_file.h"

namespace muster::cli {
namespace {

std::string variable(const std::string& option) {
  std::string name = "MUSTER_" + option;
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

// As if the command line had said it; `source` is named when the value is no good.
Status set(CLI::Option& option, const std::string& value, const std::string& source) {
  try {
    std::string result = value;
    if (option.get_items_expected_max() == 0) {
      const auto flag = parse_bool(value);
      if (!flag) return {Errc::kInvalid, source + ": " + flag.error().message};
      result = *flag ? "true" : "false";
    }
    option.add_result(result);
    option.run_callback();
  } catch (const CLI::ParseError& e) {
    return {Errc::kInvalid, source + ": " + e.what()};
  }
  return Done{};
}

/// What a file has set. What was set before is left as it is; an option with two names that the
/// file gives two values is a mistake.
class Filled {
 public:
  Status fill(CLI::Option& option, const std::string& value, const std::string& source) {
    const auto before = by_.find(&option);
    if (before != by_.end() && before->second.first != value) {
      return {Errc::kInvalid, source + ": " + before->second.second +
                                  " has set the same option to another value; keep one of them"};
    }
    if (option.count() > 0) return Done{};
    by_[&option] = {value, source};
    return set(option, value, source);
  }

 private:
  std::map<const CLI::Option*, std::pair<std::string, std::string>> by_;  ///< Value and source.
};

Result<std::string> read_file(const std::string& path) {
  auto text = files::read_whole(path);
  if (text) return text;
  return {Errc::kInvalid, "cannot read the file " + path + " (" + text.error().message +
                              "); check --config and its permissions"};
}

/// What a file may set: the options of every command, and of every action of one.
void add_known(const CLI::App& parser, std::vector<std::string>& known) {
  for (const CLI::App* each : parser.get_subcommands([](const CLI::App*) { return true; })) {
    for (const std::string& name : option_names(*each)) {
      if (name != "help" && name != "config") known.push_back(name);
    }
    add_known(*each, known);
  }
}

/// Nearly the same, but for one or two letters beside each other, and long enough to tell.
bool is_slip(const std::string& text, const std::string& known) {
  static constexpr std::size_t kTellingLength = 15;
  const std::size_t shorter = std::min(text.size(), known.size());
  if (shorter < kTellingLength) return false;
  std::size_t head = 0;
  while (head < shorter && text[head] == known[head]) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head && text[text.size() - 1 - tail] == known[known.size() - 1 - tail]) {
    ++tail;
  }
  return std::max(text.size(), known.size()) - head - tail <= 2;
}

}  // namespace

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

std::string did_you_mean(const std::string& text, const std::vector<std::string>& candidates,
                         const std::string& prefix) {
  const std::string near = nearest(text, candidates);
  return near.empty() ? "" : "; did you mean " + prefix + near + "?";
}

Status refuse_slips(const CLI::App& program) {
  std::vector<std::string> options{"config"};
  add_known(program, options);
  std::vector<std::string> known = {"MUSTER_LEASE_DEADLINE", "MUSTER_GUARDIAN"};
  for (const std::string& option : options) known.push_back(variable(option));
  for (const std::string& entry : environment()) {
    const std::string name = entry.substr(0, entry.find('='));
    if (!name.starts_with("MUSTER_")) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    for (const std::string& each : known) {
      if (is_slip(name, each)) {
        return {Errc::kInvalid, "unknown variable " + name + "; did you mean " + each + "?"};
      }
    }
  }
  return Done{};
}

// Of an option's two names the first counts: muster run gives its command MUSTER_NAME, whatever
// else is in the environment.
Status fill_from_environment(CLI::App& command) {
  for (const std::string& name : option_names(command)) {
    CLI::Option& option = *command.get_option("--" + name);
    const char* value = std::getenv(variable(name).c_str());
    if (name == "help" || option.count() > 0 || value == nullptr || *value == '\0') continue;
    if (Status status = set(option, value, variable(name)); !status) return status;
  }
  return Done{};
}

Status fill_from_file(const CLI::App& program, CLI::App& command, const std::string& path) {
  const auto yaml = read_file(path);
  if (!yaml) return yaml.error();
  const auto settings = read_settings(*yaml);
  if (!settings) return {Errc::kInvalid, path + ", " + settings.error().message};
  std::vector<std::string> known;
  add_known(program, known);
  Filled filled;
  for (const Setting& setting : *settings) {
    const std::string source = path + ", line " + std::to_string(setting.line);
    if (std::find(known.begin(), known.end(), setting.name) == known.end()) {
      return {Errc::kInvalid,
              source + ": unknown option " + setting.name + did_you_mean(setting.name, known)};
    }
    CLI::Option* option = command.get_option_no_throw("--" + setting.name);
    if (option == nullptr) continue;
    if (Status status = filled.fill(*option, setting.value, source); !status) return status;
  }
  return Done{};
}

}  // namespace muster::cli
