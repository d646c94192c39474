#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.h"
#include "platform/settings_file.h"
#include "platform/whole_file.h"
#include "server/config/config.h"

namespace muster {
namespace {

struct Value {
  std::string text;
  std::string source;  ///< What to name when the value is no good.
};
/// By option name. The first source to give an option wins.
using Values = std::map<std::string, Value>;

const ServerOption* find(const std::string& name) {
  for (const ServerOption& option : server_options()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::string did_you_mean(const std::string& name, const std::string& prefix,
                         std::initializer_list<std::string> more) {
  std::vector<std::string> known(more);
  for (const ServerOption& option : server_options()) known.push_back(option.name);
  const std::string near = nearest(name, known);
  return near.empty() ? "" : "; did you mean " + prefix + near + "?";
}

std::string variable(const std::string& option) {
  std::string name = "MUSTER_" + option;
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

/// What the words say; options that are not about the server itself go to `command` and `file`.
Status take_words(const std::vector<std::string>& words, Values& values, ServerCommand& command,
                  std::string& file) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-h" || word == "--help") return command.help = true, Status(Done{});
    if (word == "--version") return command.version = true, Status(Done{});
    if (!word.starts_with("--")) {
      return invalid("unexpected argument " + word + "; musterd --help lists the options");
    }
    const auto equals = word.find('=');
    const std::string name = word.substr(2, equals == word.npos ? word.npos : equals - 2);
    const ServerOption* option = find(name);
    if (option == nullptr && name != "config") {
      const std::string near = did_you_mean(name, "--", {"config", "help", "version"});
      return invalid("unknown option --" + name +
                     (near.empty() ? "; musterd --help lists them" : near));
    }
    std::string value = "on";
    if (equals != word.npos) {
      value = word.substr(equals + 1);
    } else if (option == nullptr || !option->type.empty()) {
      if (++i == words.size()) return invalid("--" + name + " needs a value");
      value = words[i];
    }
    const bool again = name == "config" ? !file.empty() : values.contains(name);
    if (again) return invalid("--" + name + " is given more than once; keep one of them");
    if (name == "config") {
      if (value.empty()) return invalid("--config needs the name of a file");
      file = value;
    } else {
      values[name] = {value, "--" + name};
    }
  }
  return Done{};
}

void take_environment(const EnvironmentLookup& environment, Values& values, std::string& file) {
  for (const ServerOption& option : server_options()) {
    const auto value = environment(variable(option.name));
    // An empty variable counts as not set: that is how scripts switch one off.
    if (value && !value->empty()) {
      values.try_emplace(option.name, Value{*value, variable(option.name)});
    }
  }
  const auto named = environment("MUSTER_CONFIG");
  if (file.empty() && named) file = *named;
}

/// `where` is put before each line number.
Status take_yaml(const std::string& yaml, const std::string& where, Values& values) {
  const auto settings = read_settings(yaml);
  if (!settings) return invalid(where + settings.error().message);
  for (const Setting& setting : *settings) {
    const std::string source = where + "line " + std::to_string(setting.line) + ", " + setting.name;
    if (find(setting.name) == nullptr) {
      return invalid(where + "line " + std::to_string(setting.line) + ": unknown option " +
                     setting.name + did_you_mean(setting.name, "", {}));
    }
    values.try_emplace(setting.name, Value{setting.value, source});
  }
  return Done{};
}

Status take_file(const std::string& path, Values& values) {
  const auto text = files::read_whole(path);
  if (!text) {
    return invalid("cannot read the file " + path + " (" + text.error().message +
                   "); check --config and its permissions");
  }
  return take_yaml(*text, path + ", ", values);
}

/// In the order of the table, whatever the order of the sources.
Status apply_values(const Values& values, ServerConfig& config) {
  for (const ServerOption& option : server_options()) {
    const auto it = values.find(option.name);
    if (it == values.end()) continue;
    if (Status status = option.set(config, it->second.text); !status) {
      return invalid(it->second.source + ": " + status.error().message);
    }
  }
  return Done{};
}

}  // namespace

std::vector<std::string> needs_restart(const std::map<std::string, std::string>& before,
                                       const std::map<std::string, std::string>& now) {
  std::vector<std::string> changed;
  for (const ServerOption& option : server_options()) {
    if (option.reloads()) continue;
    const auto was = before.find(option.name);
    const auto is = now.find(option.name);
    const bool same = (was == before.end()) == (is == now.end()) &&
                      (was == before.end() || was->second == is->second);
    if (!same) changed.push_back(option.name);
  }
  return changed;
}

std::string server_notes() {
  return "Every option can also come from the environment (MUSTER_LISTEN=…); the command line "
         "takes\n"
         "precedence over the environment, and the environment over the file.\n"
         "\n"
         "Exit codes: 0 stopped as requested, 64 the options are wrong, 69 cannot start yet: an "
         "address\n"
         "is in use or a name cannot be resolved, 70 cannot go on: standard error gives the "
         "reason.\n"
         "\n"
         "Example:\n"
         "  musterd --dev\n"
         "  musterd --engine managed --id s1 --peers s1=h1:9001,s2=h2:9001,s3=h3:9001 \\\n      "
         "--data-dir /var/lib/muster --listen h1:9000 --cert s1.crt --key s1.key --cacert ca.crt\n";
}

std::string server_help() {
  std::string text =
      "usage: musterd [OPTION…]\n\n"
      "  --config FILE                    YAML file with any of the options below\n";
  for (const ServerOption& option : server_options()) {
    std::string left = "  --" + option.name + (option.type.empty() ? "" : " " + option.type);
    // Counted in letters, not in bytes: "…" is three bytes.
    const auto width = static_cast<std::size_t>(std::count_if(left.begin(), left.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
    left += std::string(width < 34 ? 35 - width : 1, ' ');
    text += left + option.text + "\n";
  }
  return text + "  --help, --version\n\n" + server_notes();
}

Status apply_yaml(ServerConfig& config, const std::string& yaml) {
  Values values;
  if (Status status = take_yaml(yaml, "", values); !status) return status;
  return apply_values(values, config);
}

Result<ServerCommand> read_server_config(const std::vector<std::string>& words,
                                         const EnvironmentLookup& environment) {
  ServerCommand command;
  Values values;
  std::string file;
  if (Status status = take_words(words, values, command, file); !status) return status.error();
  if (command.help || command.version) return command;
  take_environment(environment, values, file);
  if (!file.empty()) {
    if (Status status = take_file(file, values); !status) return status.error();
  }
  if (Status status = apply_values(values, command.config); !status) return status.error();
  for (const auto& [name, value] : values) command.given[name] = value.text;
  command.config.complete();
  if (Status status = command.config.validate(); !status) return status.error();
  return command;
}

}  // namespace muster
