#include "cli/completion_text.h"
#include "cli/shell_text.h"

namespace muster::cli {
namespace {

// What _arguments would take for a mark of its own.
std::string escaped(const std::string& text, std::string_view marks) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || marks.find(c) != marks.npos) result += '\\';
    result += c;
  }
  return result;
}

// ":MESSAGE:ACTION" of _arguments: what to say, and how to complete.
std::string action(const OptionOutline& option) {
  const std::string message = ":" + escaped(option.value, ":") + ":";
  if (option.takes("FILE")) return message + "_files";
  if (option.takes("DIR")) return message + "_files -/";
  return message + (option.choices.empty() ? " " : "(" + join(option.choices, " ") + ")");
}

std::string specification(const OptionOutline& option, const std::string& name) {
  const std::string how_often = option.repeats ? "*" : "(" + join(option.names, " ") + ")";
  // "=": the value follows after a space or an equals sign; "+" is the same for a short name.
  const std::string value_mark = option.value.empty() ? "" : name.starts_with("--") ? "=" : "+";
  return single_quoted(how_often + name + value_mark + "[" + escaped(option.text, "[]:") + "]" +
                       (option.value.empty() ? "" : action(option)));
}

std::string function_name(const CommandOutline& command) {
  // The function with the program's name alone is the entrance.
  return "_" + command.path("_") + (command.words.size() == 1 ? "_commands" : "");
}

std::string arguments(const CommandOutline& command) {
  std::string text = "  _arguments -C -S :";
  for (const OptionOutline& option : command.options) {
    for (const std::string& name : option.names) {
      text += " \\\n    " + specification(option, name);
    }
  }
  if (!command.commands.empty()) {
    return text + " \\\n    '1:command:->command' \\\n    '*::argument:->argument'";
  }
  for (const OptionOutline& argument : command.arguments) {
    const std::string place = argument.repeats ? "*" : argument.required ? "" : ":";
    text += " \\\n    " + single_quoted(place + action(argument));
  }
  return text;
}

std::string function(const CommandOutline& command) {
  std::string text = function_name(command) + "() {\n";
  if (command.commands.empty()) return text + arguments(command) + "\n}\n\n";
  text += "  local curcontext=$curcontext state line ret=1\n  typeset -A opt_args\n";
  text += arguments(command) + " && ret=0\n  case $state in\n    command)\n";
  text += "      local -a commands=(";
  for (const CommandOutline& each : command.commands) {
    text +=
        "\n        " + single_quoted(escaped(each.name(), ":") + ":" + escaped(each.summary, ""));
  }
  text += ")\n      _describe -t commands command commands && ret=0\n      ;;\n";
  text += "    argument)\n      case $line[1] in\n";
  for (const CommandOutline& each : command.commands) {
    text += "        " + single_quoted(each.name()) + ") " + function_name(each) + " && ret=0 ;;\n";
  }
  return text + "      esac\n      ;;\n  esac\n  return ret\n}\n\n";
}

}  // namespace

std::string zsh_completion(const CommandOutline& root) {
  const std::string name = root.name();
  std::string script = "#compdef " + name + "\n# Completion of " + name + " for zsh.\n\n";
  for (const CommandOutline* command : flatten(root)) script += function(*command);
  script += "_" + name + "() {\n";
  script += "  local dashes=${words[(i)--]}\n";
  script += "  if ((dashes < CURRENT)); then\n";
  script += "    words=(\"${(@)words[dashes + 1,-1]}\")\n";
  script += "    ((CURRENT -= dashes))\n";
  script += "    _normal\n";
  script += "  else\n    " + function_name(root) + "\n  fi\n}\n\n";
  // On $fpath it is run as the function itself; otherwise a user has sourced it.
  script += "if [[ $funcstack[1] == _" + name + " ]]; then\n  _" + name + " \"$@\"\nelse\n";
  return script + "  compdef _" + name + " " + name + "\nfi\n";
}

}  // namespace muster::cli
