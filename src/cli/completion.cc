#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/commands.h"
#include "cli/completion_text.h"
#include "cli/exit_code.h"
#include "cli/options.h"

namespace muster::cli {
namespace {

class CompletionCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "completion"; }
  [[nodiscard]] const char* summary() const override { return "Print a shell completion script"; }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster completion bash >/etc/bash_completion.d/muster\n"
           "  muster completion zsh >/usr/local/share/zsh/site-functions/_muster\n"
           "  muster completion fish >~/.config/fish/completions/muster.fish\n"
           "  source <(muster completion bash)          for this shell only\n"
           "\n"
           "Words after -- are completed as a command line of their own.\n";
  }

  void declare(CLI::App& app) override {
    app_ = &app;
    add_value(app, "SHELL", "bash|zsh|fish", "", "Shell that the script is for",
              [this](const std::string& value) -> Status {
                if (value != "bash" && value != "zsh" && value != "fish") {
                  return {Errc::kInvalid, "\"" + value + "\" is none of bash, zsh and fish"};
                }
                shell_ = value;
                return Done{};
              });
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (shell_.empty()) {
      return {Errc::kInvalid, "name the shell: muster completion bash, zsh or fish"};
    }
    // Only now are all commands declared.
    const CommandOutline root = outline(*app_->get_parent());
    terminal.out << (shell_ == "bash"  ? bash_completion(root)
                     : shell_ == "zsh" ? zsh_completion(root)
                                       : fish_completion(root));
    return kDone;
  }

 private:
  CLI::App* app_ = nullptr;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command() {
  return std::make_unique<CompletionCommand>();
}

}  // namespace muster::cli
