#include "cli/completion_text.h"
#include "cli/shell_text.h"

namespace muster::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string what_follows(const OptionOutline& option) {
  if (option.value.empty()) return " -f";
  if (option.takes("FILE")) return " -r -F";
  if (option.takes("DIR")) return " -x -a '(__fish_complete_directories)'";
  return " -x" + (option.choices.empty() ? "" : " -a " + quoted(join(option.choices, " ")));
}

std::string offer(const CommandOutline& command, const std::string& program) {
  // Quoted twice: once for the condition, once for the line it stands in.
  const std::string line =
      "complete -c " + program + " -n " + quoted("__" + program + "_at " + quoted(command.path()));
  std::string text;
  for (const CommandOutline& each : command.commands) {
    text += line + " -f -a " + quoted(each.name()) + " -d " + quoted(each.summary) + "\n";
  }
  for (const OptionOutline& argument : command.arguments) {
    text += line + what_follows(argument) + " -d " + quoted(argument.text) + "\n";
  }
  for (const OptionOutline& option : command.options) {
    text += line;
    for (const std::string& name : option.names) {
      text += name.starts_with("--") ? " -l " + quoted(name.substr(2))
                                     : " -s " + quoted(name.substr(1));
    }
    text += what_follows(option) + " -d " + quoted(option.text) + "\n";
  }
  return text;
}

// A pattern of `switch` for each of `entries`, or one that matches nothing.
std::string patterns(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) text += " " + quoted(entry);
  return entries.empty() ? " ''" : text;
}

// NAME is the program's.
constexpr const char* kFishFunctions = R"fish(
# Succeeds when the words before the cursor lead to the command `$argv[1]` and stay in it.
function __NAME_at
    set -l path NAME
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        set -l word $words[1]
        set -e words[1]
        if test "$word" = --
            return 1
        else if __NAME_takes_value "$path $word"
            set -e words[1]
        else if __NAME_is_command "$path $word"
            set path "$path $word"
        end
    end
    test "$path" = $argv[1]
end

# Succeeds when a bare -- stands before the cursor.
function __NAME_passes_on
    contains -- -- (commandline -opc)
end

# Completes what follows the -- as a command line of its own.
function __NAME_rest
    set -l words (commandline -opc)
    set -l dashes (contains -i -- -- $words)
    set -e words[1..$dashes]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end

complete -c NAME -e
complete -c NAME -f
complete -c NAME -n __NAME_passes_on -x -a '(__NAME_rest)'
)fish";

}  // namespace

std::string fish_completion(const CommandOutline& root) {
  std::vector<std::string> commands;
  std::vector<std::string> valued;
  std::string offers;
  for (const CommandOutline* command : flatten(root)) {
    if (command != &root) commands.push_back(command->path());
    for (const OptionOutline& option : command->options) {
      if (option.value.empty()) continue;
      for (const std::string& name : option.names) valued.push_back(command->path() + " " + name);
    }
    offers += offer(*command, root.name());
  }
  const auto table = [&](const std::string& name, const std::vector<std::string>& entries) {
    return "function __" + root.name() + "_" + name + "\n    switch $argv[1]\n        case" +
           patterns(entries) + "\n            return 0\n    end\n    return 1\nend\n";
  };
  return "# Completion of " + root.name() + " for fish.\n\n" + table("is_command", commands) +
         "\n" + table("takes_value", valued) + with_name(kFishFunctions, root.name()) + offers;
}

}  // namespace muster::cli
