#include "cli/outline.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/options.h"

namespace muster::cli {
namespace {

// "on|off" lists what may be said; HOST|IP, in capitals, names kinds of it.
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> choices;
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (type.find('|') == type.npos || std::any_of(type.begin(), type.end(), is_capital)) {
    return choices;
  }
  for (const std::string_view word : split(type, '|')) choices.emplace_back(word);
  return choices;
}

OptionOutline describe(const CLI::Option& option, bool by_place) {
  OptionOutline result;
  const std::string type = option.get_type_name();
  if (by_place) {
    // An argument that says no more than that it is text is known by its name.
    result.names.push_back(option.get_name(/*positional=*/true));
    result.value = type.empty() || type == "TEXT" ? result.names[0] : type;
  } else {
    for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
    const bool is_flag = option.get_items_expected_max() == 0;
    result.value = is_flag ? "" : type.empty() ? "VALUE" : type;
  }
  result.choices = choices_of(result.value);
  result.initial = option.get_default_str();
  result.text = option.get_description();
  result.required = option.get_required();
  result.repeats = option.get_items_expected_max() > 1;
  return result;
}

CommandOutline describe(const CLI::App& app, std::vector<std::string> words) {
  CommandOutline result;
  result.words = std::move(words);
  result.words.push_back(app.get_name());
  result.summary = app.get_description();
  result.notes = app.get_footer();
  result.command_line = shows_command_line(app);
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->nonpositional()) result.options.push_back(describe(*option, false));
    if (option->get_positional()) result.arguments.push_back(describe(*option, true));
  }
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_group().empty()) continue;
    CommandOutline command = describe(*each, result.words);
    if (!each->get_name().empty()) {
      result.commands.push_back(std::move(command));
      continue;
    }
    // CLI11 keeps a group of options as a command without a name.
    for (OptionOutline& option : command.options) result.options.push_back(std::move(option));
  }
  return result;
}

}  // namespace

bool OptionOutline::takes(std::string_view kind) const {
  return value == kind;
}

std::string CommandOutline::path(std::string_view separator) const {
  return join(words, separator);
}

CommandOutline outline(const CLI::App& program) {
  CommandOutline root = describe(program, {});
  std::vector<std::string> names;
  for (const CommandOutline& command : root.commands) names.push_back(command.name());
  for (CommandOutline& command : root.commands) {
    for (OptionOutline& argument : command.arguments) {
      // `muster run -- COMMAND` takes one of another kind.
      if (argument.takes("COMMAND") && !command.command_line) argument.choices = names;
    }
  }
  return root;
}

std::vector<const CommandOutline*> flatten(const CommandOutline& root) {
  std::vector<const CommandOutline*> all{&root};
  for (const CommandOutline& command : root.commands) {
    for (const CommandOutline* each : flatten(command)) all.push_back(each);
  }
  return all;
}

std::string join(const std::vector<std::string>& texts, std::string_view separator) {
  std::string result;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) result += separator;
    result += text;
  }
  return result;
}

}  // namespace muster::cli
