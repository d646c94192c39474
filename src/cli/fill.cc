#include "cli/fill.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "platform/settings_file.h"

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

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || !text) {
    return {Errc::kInvalid,
            "cannot read the file " + path + "; check --config and its permissions"};
  }
  return text.str();
}

}  // namespace

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_lnames().empty()) names.push_back(option->get_lnames().front());
  }
  return names;
}

std::string did_you_mean(const std::string& text, const std::vector<std::string>& candidates,
                         const std::string& prefix) {
  const std::string near = nearest(text, candidates);
  return near.empty() ? "" : "; did you mean " + prefix + near + "?";
}

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
  for (const CLI::App* each : program.get_subcommands([](const CLI::App*) { return true; })) {
    for (const std::string& name : option_names(*each)) {
      if (name != "help" && name != "config") known.push_back(name);
    }
  }
  for (const Setting& setting : *settings) {
    const std::string source = path + ", line " + std::to_string(setting.line);
    if (std::find(known.begin(), known.end(), setting.name) == known.end()) {
      return {Errc::kInvalid,
              source + ": unknown option " + setting.name + did_you_mean(setting.name, known)};
    }
    CLI::Option* option = command.get_option_no_throw("--" + setting.name);
    if (option == nullptr || option->count() > 0) continue;
    if (Status status = set(*option, setting.value, source); !status) return status;
  }
  return Done{};
}

}  // namespace muster::cli
