#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/fill.h"
#include "cli/manual.h"
#include "cli/options.h"

namespace muster::cli {
namespace {

// Readable for all, as far as the umask allows: unlike a store's files, these are public.
Status write_page(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (file) return Done{};
  return {Errc::kInvalid, "cannot write " + path.string() + "; check --dir and its permissions"};
}

class ManCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "man"; }
  [[nodiscard]] const char* summary() const override {
    return "Print a manual page, or write all of them to a directory";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster man worker | man -l -\n"
           "  muster man --dir /usr/local/share/man/man1\n";
  }

  void declare(CLI::App& app) override {
    app_ = &app;
    app.add_option("COMMAND", command_, "Command whose page to print (default: muster itself)");
    add_text(app, "--dir", "DIR", directory_, "Directory to write every page to");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (!directory_.empty() && !command_.empty()) {
      return {Errc::kInvalid, "--dir writes every page; leave " + command_ + " or --dir out"};
    }
    const auto date = manual_date();
    if (!date) return date.error();
    // Only now are all commands declared.
    const auto pages = manual_pages(outline(*app_->get_parent()), MUSTER_VERSION, *date);
    if (!directory_.empty()) return write_all(terminal, pages);
    const std::string wanted = command_.empty() ? pages[0].name : pages[0].name + "-" + command_;
    std::vector<std::string> names;
    for (const ManualPage& page : pages) {
      if (page.name == wanted) return terminal.out << page.text, kDone;
      if (&page != &pages[0]) names.push_back(page.name.substr(pages[0].name.size() + 1));
    }
    return {Errc::kInvalid, "there is no command " + command_ + did_you_mean(command_, names)};
  }

 private:
  Result<int> write_all(Terminal& terminal, const std::vector<ManualPage>& pages) const {
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (error) {
      return {Errc::kInvalid, "cannot make the directory " + directory_ + ": " + error.message()};
    }
    for (const ManualPage& page : pages) {
      const auto path = std::filesystem::path(directory_) / page.file_name();
      if (const Status written = write_page(path, page.text); !written) return written.error();
      terminal.line(path.string());
    }
    return kDone;
  }

  CLI::App* app_ = nullptr;
  std::string command_;
  std::string directory_;
};

}  // namespace

std::unique_ptr<Command> make_man_command() {
  return std::make_unique<ManCommand>();
}

}  // namespace muster::cli
