// A program of nobody, whose help holds every character that a shell, _arguments or roff could
// take for its own, and commands within commands. What works for it works for the next command.
//   awkward completion bash|zsh|fish
//   awkward man --dir DIR
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/completion_text.h"
#include "cli/manual.h"

namespace {

constexpr const char* kAwkward = R"(It's [odd]: a\b "c" `d` $HOME $(e) ~f ^g *h {i,j} %k … 'l' #m)";

struct Words {
  std::string shell;
  std::string dir;
  std::string text;
  std::vector<std::string> rest;
  bool flag = false;
};

void declare(CLI::App& app, Words& words) {
  auto& completion = *app.add_subcommand("completion", "Print a script");
  completion.add_option("SHELL", words.shell, "Which")->type_name("bash|zsh|fish")->required();
  auto& man = *app.add_subcommand("man", "Write the pages");
  man.add_option("--dir", words.dir, "Where to")->type_name("DIR");

  auto& outer = *app.add_subcommand("outer-command", kAwkward);
  outer.add_option("--before", words.text, kAwkward)->type_name("HOST:PORT");
  auto& inner = *outer.add_subcommand("inner", ".begins like a request");
  inner.add_option("-m,--mode", words.text, kAwkward)->type_name("fast|slow")->default_str("fast");
  inner.add_option("--file", words.text, "'begins like one, too")->type_name("FILE");
  inner.add_option("--free", words.text, kAwkward)->type_name("N[:M]");
  inner.add_flag("--flag,-f", words.flag, kAwkward);
  inner.add_option("--none", words.text);
  inner.add_option("--hidden", words.text, "Not for people")->group("");
  auto& innermost = *inner.add_subcommand("innermost", "The last one");
  innermost.add_option("FILE", words.rest, "Any number of them");
  inner.footer("\nExample:\n  .awkward 'x' \\\n  -- y\n\n" + std::string(kAwkward) + "\n");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace muster::cli;
  Words words;
  CLI::App app(kAwkward, "awkward");
  declare(app, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  }
  const CommandOutline root = outline(app);
  if (words.shell == "bash") std::cout << bash_completion(root);
  if (words.shell == "zsh") std::cout << zsh_completion(root);
  if (words.shell == "fish") std::cout << fish_completion(root);
  if (words.dir.empty()) return 0;
  for (const ManualPage& page : manual_pages(root, "0", "2026-01-31")) {
    std::ofstream(std::filesystem::path(words.dir) / page.file_name()) << page.text;
  }
  return 0;
}
