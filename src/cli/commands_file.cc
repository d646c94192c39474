#include "cli/commands_file.h"

#include <yaml-cpp/yaml.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "cli/fill.h"
#include "cli/options.h"
#include "core/election/records.h"
#include "platform/whole_file.h"

namespace muster::cli {
namespace {

/// Wrong at a line of the file.
Error wrong(const YAML::Node& node, const std::string& what) {
  return {Errc::kInvalid, "line " + std::to_string(node.Mark().line + 1) + ": " + what};
}

/// A program is given text up to the first of these.
constexpr const char* kNul = "a program cannot be given a NUL character (\\0)";
bool has_nul(const std::string& text) {
  return text.find('\0') != text.npos;
}

using Read = std::function<Status(const YAML::Node&)>;

/// Every key of `node` goes to its reader; one that has none, or comes twice, is an error.
Status read_map(const YAML::Node& node, const std::string& what,
                const std::map<std::string, Read>& readers) {
  if (!node.IsMap()) return wrong(node, "write " + what + " as NAME: VALUE");
  std::vector<std::string> known;
  for (const auto& [name, reader] : readers) known.push_back(name);
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) return wrong(entry.first, "a key must be a word");
    const std::string key = entry.first.Scalar();
    const auto reader = readers.find(key);
    if (reader == readers.end()) {
      return wrong(entry.first, "unknown key " + key + " of " + what + did_you_mean(key, known));
    }
    if (!seen.insert(key).second) return wrong(entry.first, key + " is given twice");
    if (Status status = reader->second(entry.second); !status) return status;
  }
  return Done{};
}

/// A reader of one word or number, by a function that says kInvalid for what it does not take.
template <typename T, typename Parse>
Read scalar(T& target, Parse parse) {
  return [&target, parse](const YAML::Node& node) -> Status {
    if (!node.IsScalar()) return wrong(node, "exactly one value is needed here");
    const auto value = parse(node.Scalar());
    if (!value) return wrong(node, value.error().message);
    target = *value;
    return Done{};
  };
}

Result<std::string> text(const std::string& value) {
  if (value.empty()) return {Errc::kInvalid, "the value is empty"};
  if (has_nul(value)) return {Errc::kInvalid, kNul};
  return value;
}

/// No two restarts lie within no time: that would be no limit at all.
Result<Duration> parse_window(const std::string& value) {
  auto window = parse_duration(value);
  if (window && *window == Duration(0)) return {Errc::kInvalid, "the time must be above zero"};
  return window;
}

Result<RestartStrategy> parse_strategy(const std::string& value) {
  if (value == "one_for_one") return RestartStrategy::kOneForOne;
  if (value == "one_for_all") return RestartStrategy::kOneForAll;
  if (value == "rest_for_one") return RestartStrategy::kRestForOne;
  return {Errc::kInvalid, "\"" + value + "\" is not one_for_one, one_for_all or rest_for_one"};
}

Status read_words(const YAML::Node& node, std::vector<std::string>& words) {
  if (!node.IsSequence() || node.size() == 0) {
    return wrong(node, "write the command as a list, such as [sh, -c, \"make && install\"]");
  }
  for (const YAML::Node& word : node) {
    if (!word.IsScalar()) return wrong(word, "each part of a command is one word");
    if (has_nul(word.Scalar())) return wrong(word, kNul);
    words.push_back(word.Scalar());
  }
  if (words.front().empty()) return wrong(node, "the command has an empty name");
  return Done{};
}

/// On top of our own environment.
Status read_environment(const YAML::Node& node, std::vector<std::string>& variables) {
  variables = environment();
  if (!node.IsMap()) return wrong(node, "write the environment as NAME: VALUE");
  for (const auto& entry : node) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (name.empty() || name.find('=') != name.npos || !entry.second.IsScalar()) {
      return wrong(entry.first, "write the environment as NAME: VALUE");
    }
    if (has_nul(name + entry.second.Scalar())) return wrong(entry.first, kNul);
    set_variable(variables, name, entry.second.Scalar());
  }
  return Done{};
}

Result<ChildSpec> read_child(const YAML::Node& node, Duration grace) {
  ChildSpec child;
  muster::Command command;
  command.null_stdin = true;  // There is one standard input and more than one command.
  Duration ready_after{0};
  Duration shutdown = grace;
  const auto duration = [](const std::string& value) { return parse_duration(value); };
  const Status status = read_map(
      node, "a command",
      {{"name", scalar(child.name, text)},
       {"command", [&](const YAML::Node& n) { return read_words(n, command.argv); }},
       {"environment",
        [&](const YAML::Node& n) { return read_environment(n, command.environment.emplace()); }},
       {"directory", scalar(command.directory, text)},
       {"restart", scalar(child.rules.restart, parse_restart_policy)},
       {"ready-after", scalar(ready_after, duration)},
       {"grace", scalar(shutdown, duration)},
       {"timeout", scalar(child.rules.timeout, duration)},
       {"setup",
        scalar(child.rules.setup, [](const std::string& value) { return parse_bool(value); })}});
  if (!status) return status.error();
  if (child.name.empty() || command.argv.empty()) {
    return wrong(node, "a command needs a name and a command");
  }
  if (Status name = validate_name("name", child.name); !name) {
    return wrong(node, name.error().message);
  }
  if (child.rules.timeout && !child.rules.setup) {
    return wrong(node, child.name + ": only a setup has a timeout");
  }
  if (child.rules.timeout && *child.rules.timeout == Duration(0)) {
    return wrong(node, child.name + ": the timeout must be above zero; leave it out for no limit");
  }
  if (shutdown > grace) {
    return wrong(node, child.name + ": a grace of " + format_duration(shutdown) +
                           " is more than the lease leaves (" + format_duration(grace) +
                           "); raise --grace, and with it --lease-timeout");
  }
  child.rules.ready_after = ready_after;
  child.rules.shutdown = shutdown;
  child.work = std::move(command);
  return child;
}

Status read_children(const YAML::Node& node, Duration grace, std::vector<ChildSpec>& children) {
  if (!node.IsSequence()) return wrong(node, "commands must be a list");
  std::set<std::string> names;
  for (const YAML::Node& each : node) {
    auto child = read_child(each, grace);
    if (!child) return child.error();
    if (!names.insert(child->name).second) {
      return wrong(each, "two commands are named " + child->name);
    }
    children.push_back(std::move(*child));
  }
  return Done{};
}

}  // namespace

Result<RestartPolicy> parse_restart_policy(const std::string& text) {
  if (text == "permanent") return RestartPolicy::kPermanent;
  if (text == "transient") return RestartPolicy::kTransient;
  if (text == "temporary") return RestartPolicy::kTemporary;
  return {Errc::kInvalid, "\"" + text + "\" is not permanent, transient or temporary"};
}

Result<CommandsFile> parse_commands(const std::string& yaml, Duration grace) {
  try {
    const YAML::Node root = YAML::Load(yaml);
    if (root.IsNull()) return {Errc::kInvalid, "the file has no commands"};
    CommandsFile file;
    const Status status = read_map(
        root, "the file",
        {{"strategy", scalar(file.strategy, parse_strategy)},
         {"restarts",
          scalar(file.restarts_max, [](const std::string& text) { return parse_count(text); })},
         {"within", scalar(file.restart_window, parse_window)},
         {"commands",
          [&](const YAML::Node& n) { return read_children(n, grace, file.children); }}});
    if (!status) return status.error();
    if (file.children.empty()) return wrong(root, "the file has no commands");
    return file;
  } catch (const YAML::Exception& e) {
    return {Errc::kInvalid,
            "line " + std::to_string(e.mark.line + 1) + ": this is not YAML: " + e.msg};
  }
}

Result<CommandsFile> read_commands(const std::string& path, Duration grace) {
  const auto yaml = files::read_whole(path);
  if (!yaml) {
    return {Errc::kInvalid,
            "cannot read the file " + path + " (" + yaml.error().message + "); check --commands"};
  }
  auto file = parse_commands(*yaml, grace);
  if (!file) return {Errc::kInvalid, path + ", " + file.error().message};
  return file;
}

}  // namespace muster::cli
