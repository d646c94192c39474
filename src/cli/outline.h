#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

/// What --help knows, as plain text: the one source of shell completion and manual pages. Whatever
/// a command declares is in it, so neither of them is edited when a command is added.
namespace muster::cli {

/// An option, or an argument that is given by its place.
struct OptionOutline {
  std::vector<std::string> names;    ///< With their dashes; of an argument, its name alone.
  std::string value;                 ///< What it takes, such as FILE; empty for a flag.
  std::vector<std::string> choices;  ///< The only words it takes; empty when there are others.
  std::string initial;               ///< What holds when it is not given, if that can be shown.
  std::string text;
  bool required = false;
  bool repeats = false;

  /// Whether what it takes is called `kind`: FILE and DIR are what shells can complete.
  [[nodiscard]] bool takes(std::string_view kind) const;
};

/// The program, or a command of it, with its commands.
struct CommandOutline {
  std::vector<std::string> words;  ///< As one types them: muster, worker.
  std::string summary;
  std::string notes;  ///< Example and remarks, as --help prints them.
  std::vector<OptionOutline> options;
  std::vector<OptionOutline> arguments;
  std::vector<CommandOutline> commands;
  bool command_line = false;  ///< Another program's, after `--`.

  [[nodiscard]] const std::string& name() const { return words.back(); }
  /// The words with `separator` in between.
  [[nodiscard]] std::string path(std::string_view separator = " ") const;
};

/// Walks the whole tree below `program`. What --help hides stays hidden. A single argument called
/// COMMAND is taken for the name of a command of the program.
[[nodiscard]] CommandOutline outline(const CLI::App& program);

/// `root` and all commands below it, each before its own.
[[nodiscard]] std::vector<const CommandOutline*> flatten(const CommandOutline& root);

/// The texts with `separator` in between.
[[nodiscard]] std::string join(const std::vector<std::string>& texts, std::string_view separator);

}  // namespace muster::cli
