#include "cli/manual.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/roff.h"

namespace muster::cli {
namespace {

using roff::bold;
using roff::escaped;
using roff::filled;
using roff::italic;

using Block = std::vector<std::string>;

std::string capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// The lines of `notes` between empty ones.
std::vector<Block> blocks_of(const std::string& notes) {
  std::vector<Block> blocks(1);
  std::istringstream lines(notes);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) {
      blocks.back().push_back(line);
    } else if (!blocks.back().empty()) {
      blocks.emplace_back();
    }
  }
  if (blocks.back().empty()) blocks.pop_back();
  return blocks;
}

constexpr std::string_view kExitCodes = "Exit codes:";

bool is_example(const Block& block) {
  return block[0].starts_with("Example");
}

bool is_exit_status(const Block& block) {
  return block[0].starts_with(kExitCodes);
}

std::string synopsis(const CommandOutline& command) {
  std::string text = ".SH SYNOPSIS\n" + bold(command.path());
  if (!command.options.empty()) text += " [" + italic("options") + "]";
  for (const OptionOutline& argument : command.arguments) {
    const std::string name = italic(argument.names[0]) + (argument.repeats ? " ..." : "");
    text += argument.required ? " " + name : " [" + name + "]";
  }
  if (!command.commands.empty()) text += " " + italic("command") + " ...";
  if (command.command_line) {
    text += " [" + bold("--") + " " + italic("command") + " [" + italic("argument") + " ...]]";
  }
  return text + "\n";
}

std::string description(const CommandOutline& command) {
  std::string text = ".SH DESCRIPTION\n" + filled(command.summary);
  for (const Block& block : blocks_of(command.notes)) {
    if (is_example(block) || is_exit_status(block)) continue;
    text += ".PP\n" + filled(join(block, " "));
  }
  return text;
}

// What --help says of an option, and what it is without it.
std::string entry(const OptionOutline& option, const std::string& title) {
  std::string text = ".TP\n" + title + "\n";
  text += option.text.empty() ? "\\&\n" : filled(option.text);
  if (!option.initial.empty()) text += ".br\nDefault: " + bold(option.initial) + "\n";
  return text;
}

std::string arguments(const CommandOutline& command) {
  std::string text;
  for (const OptionOutline& argument : command.arguments) {
    std::string title = italic(argument.names[0]);
    if (argument.value != argument.names[0]) title += " (" + bold(argument.value) + ")";
    text += entry(argument, title);
  }
  return text.empty() ? "" : ".SH ARGUMENTS\n" + text;
}

std::string options(const CommandOutline& command) {
  std::string text;
  for (const OptionOutline& option : command.options) {
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back(bold(name));
    std::string title = join(names, ", ");
    if (!option.value.empty()) {
      title += " " + (option.choices.empty() ? italic(option.value) : bold(option.value));
    }
    text += entry(option, title);
  }
  return text.empty() ? "" : ".SH OPTIONS\n" + text;
}

std::string commands(const CommandOutline& command) {
  std::string text;
  for (const CommandOutline& each : command.commands) {
    text += ".TP\n" + bold(each.name()) + "\n" + filled(each.summary);
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

std::string environment(const CommandOutline& command) {
  for (const OptionOutline& option : command.options) {
    const std::string& name = option.names[0];
    if (!name.starts_with("--") || name == "--help" || name == "--version") continue;
    std::string variable = "MUSTER_" + capitals(name.substr(2));
    std::replace(variable.begin(), variable.end(), '-', '_');
    return ".SH ENVIRONMENT\n" +
           filled("Each option can also be set by a variable named after it, such as " + variable +
                  " for " + name + "; the command line wins.");
  }
  return "";
}

std::string exit_status(const CommandOutline& command) {
  std::string text;
  for (const Block& block : blocks_of(command.notes)) {
    if (is_exit_status(block)) text += filled(join(block, " ").substr(kExitCodes.size()));
  }
  return text.empty() ? "" : ".SH EXIT STATUS\n" + text;
}

std::string examples(const CommandOutline& command) {
  std::string text;
  for (const Block& block : blocks_of(command.notes)) {
    if (!is_example(block)) continue;
    const Block lines(block.begin() + 1, block.end());
    text += ".PP\n.nf\n" + escaped(join(lines, "\n")) + "\n.fi\n";
  }
  // The section's own heading is a paragraph already.
  return text.empty() ? "" : ".SH EXAMPLES\n" + text.substr(std::string(".PP\n").size());
}

// The command it belongs to, and those that belong to it.
std::string see_also(const CommandOutline& command) {
  std::vector<std::string> names;
  if (command.words.size() > 1) {
    names.push_back(join({command.words.begin(), command.words.end() - 1}, "-"));
  }
  for (const CommandOutline& each : command.commands) names.push_back(each.path("-"));
  if (names.empty()) return "";
  // The comma is set in roman by the macro, as is the section.
  for (std::string& name : names) name = ".BR " + escaped(name) + " (1)";
  return ".SH SEE ALSO\n" + join(names, ",\n") + "\n";
}

}  // namespace

std::vector<ManualPage> manual_pages(const CommandOutline& root, const std::string& version,
                                     const std::string& date, const std::string& section) {
  std::vector<ManualPage> pages;
  for (const CommandOutline* command : flatten(root)) {
    const std::string name = command->path("-");
    std::string text = ".TH \"" + escaped(capitals(name)) + "\" " + section + " \"" + date +
                       "\" \"" + escaped(root.name() + " " + version) + "\"\n";
    text += ".SH NAME\n" + escaped(name) + " \\-\n" + filled(command->summary);
    text += synopsis(*command) + description(*command) + commands(*command);
    text += arguments(*command) + options(*command) + environment(*command);
    text += exit_status(*command) + examples(*command) + see_also(*command);
    pages.push_back({name, section, text});
  }
  return pages;
}

}  // namespace muster::cli
