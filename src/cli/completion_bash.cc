#include "cli/completion_text.h"
#include "cli/shell_text.h"

namespace muster::cli {
namespace {

// Everything one command offers, as the variables that the function below reads.
std::string offer(const CommandOutline& command) {
  std::vector<std::string> commands;
  std::vector<std::string> options;
  std::vector<std::string> valued;
  std::vector<std::string> values;
  const auto add_values = [&](const std::string& name, const OptionOutline& option) {
    if (option.takes("FILE")) values.push_back(name + "=@file");
    if (option.takes("DIR")) values.push_back(name + "=@directory");
    for (const std::string& choice : option.choices) values.push_back(name + "=" + choice);
  };
  for (const CommandOutline& each : command.commands) commands.push_back(each.name());
  for (const OptionOutline& option : command.options) {
    for (const std::string& name : option.names) {
      options.push_back(name);
      if (!option.value.empty()) valued.push_back(name);
      add_values(name, option);
    }
  }
  for (const OptionOutline& argument : command.arguments) add_values("", argument);
  return "    " + single_quoted(command.path()) + ")\n" +                 //
         "      commands=" + single_quoted(join(commands, " ")) + "\n" +  //
         "      options=" + single_quoted(join(options, " ")) + "\n" +    //
         "      valued=" + single_quoted(join(valued, " ")) + "\n" +      //
         "      values=" + single_quoted(join(values, " ")) + "\n      ;;\n";
}

// NAME is the program's. Bash splits words at = and :, so --option=value comes as three words.
constexpr const char* kBashFunctions = R"bash(
# Offers what may follow `$1=` in `values` and begins with `cur`; an argument's name is empty.
_NAME_values() {
  local each all
  read -ra all <<<"$values"
  for each in "${all[@]}"; do
    case $each in
      "$1=@file" | "$1=@directory")
        # Only a real completion has options; the function may be called by hand, too.
        compopt -o filenames 2>/dev/null
        if [[ $each == *=@file ]]; then
          mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
        else
          mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur")
        fi
        ;;
      "$1=$cur"*) COMPREPLY+=("${each#"$1="}") ;;
    esac
  done
}

_NAME() {
  local IFS=$' \t\n' path=NAME cur=${COMP_WORDS[COMP_CWORD]} commands options valued values word i
  COMPREPLY=()
  _NAME_offer "$path"
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -- ]]; then
      if ((i + 1 == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      else
        compopt -o default 2>/dev/null
      fi
      return
    elif [[ " $valued " == *" $word "* ]]; then
      [[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))
      ((++i < COMP_CWORD)) && continue
      ((i == COMP_CWORD)) || cur=
      _NAME_values "$word"
      return
    elif [[ " $commands " == *" $word "* ]]; then
      path+=" $word"
      _NAME_offer "$path"
    fi
  done
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
    _NAME_values ''
  fi
}
complete -F _NAME NAME
)bash";

}  // namespace

std::string bash_completion(const CommandOutline& root) {
  std::string script = "# Completion of " + root.name() + " for bash.\n\n" +  //
                       "# What the command with the words `$1` offers.\n" +   //
                       "_" + root.name() + "_offer() {\n  case $1 in\n";
  for (const CommandOutline* command : flatten(root)) script += offer(*command);
  return script + "  esac\n}\n" + with_name(kBashFunctions, root.name());
}

}  // namespace muster::cli
