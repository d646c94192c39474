#include <iostream>

#include "cli/manual.h"
#include "server/config/config.h"

// Prints the manual page of musterd, musterd(8), from what its --help is made of. A program of its
// own: musterd has no use for roff, and muster does not know musterd's options.

namespace muster {
namespace {

using cli::CommandOutline;
using cli::OptionOutline;

CommandOutline musterd_outline() {
  CommandOutline outline;
  outline.words = {"musterd"};
  outline.summary = "Replicated registry of nodes, leader election, topology";
  outline.notes = server_notes();
  const auto add = [&](std::vector<std::string> names, std::string value, std::string text) {
    OptionOutline option;
    option.names = std::move(names);
    option.value = std::move(value);
    option.text = std::move(text);
    outline.options.push_back(std::move(option));
  };
  add({"--config"}, "FILE", "A YAML file with any of the options below");
  for (const ServerOption& option : server_options()) {
    add({"--" + option.name}, option.type, option.text);
  }
  add({"--help", "-h"}, "", "Print the options and exit");
  add({"--version"}, "", "Print the version and exit");
  return outline;
}

int main() {
  const auto date = cli::manual_date();
  if (!date) {
    std::cerr << date.error().message << "\n";
    return 1;
  }
  std::cout << cli::manual_pages(musterd_outline(), MUSTER_VERSION, *date, "8")[0].text
            << ".SH FILES\n"
               ".TP\n.I /etc/muster/musterd.yaml\nThe options of the packaged service.\n"
               ".TP\n.I /var/lib/muster\nThe state of the packaged service.\n"
               ".SH SEE ALSO\n.BR muster (1)\n"
            << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace
}  // namespace muster

int main() {
  return muster::main();
}
