#include "client/backup.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/topology_text.h"

namespace muster::cli {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
/// A transfer takes longer than a question.
constexpr Duration kTransferTimeout = 10min;

class BackupCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "backup"; }
  [[nodiscard]] const char* summary() const override { return "Copy the whole state to a file"; }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster backup muster-2031-05-17.backup\n"
           "\n"
           "The state as of one place in the log. The file appears when it is complete, and an\n"
           "existing one is not overwritten.\n";
  }

  void declare(CLI::App& app) override {
    add_argument(app, "FILE", file_, "Where to put it");
    server_.timeout = kTransferTimeout;
    server_.declare(app);
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (file_.empty()) return {Errc::kInvalid, "say where to put it: muster backup FILE"};
    if (std::filesystem::exists(file_)) {
      return {Errc::kInvalid, file_ + " is there already; name another file"};
    }
    const auto client = server_.open();
    if (!client) return client.error();
    const std::string part = file_ + ".part";
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    const auto bytes = client::backup(
        **client,
        [&](const std::string& data) -> Status {
          if (!out.write(data.data(), static_cast<std::streamsize>(data.size()))) {
            return cannot_write(part);
          }
          return Done{};
        },
        server_.call());
    out.close();
    if (!bytes || !out || std::rename(part.c_str(), file_.c_str()) != 0) {
      const Error error = bytes ? cannot_write(file_).error() : bytes.error();
      std::error_code ignored;
      std::filesystem::remove(part, ignored);
      return refused(terminal, name(), error);
    }
    terminal.line(json_ ? dump({{"file", file_}, {"bytes", *bytes}})
                        : file_ + ": " + std::to_string(*bytes) + " bytes");
    return kDone;
  }

 private:
  static Status cannot_write(const std::string& path) {
    return {Errc::kInvalid, "cannot write " + path + ": " + std::strerror(errno)};
  }

  ServerOptions server_;
  std::string file_;
  bool json_ = false;
};

class RestoreCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "restore"; }
  [[nodiscard]] const char* summary() const override {
    return "Put a backup in place of an empty state";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster restore muster-2031-05-17.backup\n"
           "\n"
           "Refused with exit code 1 unless the servers' state is empty. Versions, revisions and\n"
           "epochs count on.\n";
  }

  void declare(CLI::App& app) override {
    add_argument(app, "FILE", file_, "What `muster backup` wrote");
    server_.timeout = kTransferTimeout;
    server_.declare(app);
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (file_.empty()) return {Errc::kInvalid, "say what to restore: muster restore FILE"};
    std::ifstream in(file_, std::ios::binary);
    if (!in) return {Errc::kInvalid, "cannot read " + file_ + ": " + std::strerror(errno)};
    const auto client = server_.open();
    if (!client) return client.error();
    const auto restored = client::restore(
        **client,
        [&]() -> Result<std::optional<std::string>> {
          std::string bytes(kChunkBytes, '\0');
          in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
          if (in.bad()) return {Errc::kInvalid, "cannot read " + file_};
          bytes.resize(static_cast<std::size_t>(in.gcount()));
          return bytes.empty() ? std::optional<std::string>() : std::optional(std::move(bytes));
        },
        server_.call());
    if (!restored) return refused(terminal, name(), restored.error());
    terminal.line(json_
                      ? dump({{"applied_index", restored->applied_index},
                              {"topology_version", restored->topology_version.value()}})
                      : "restored, version " + std::to_string(restored->topology_version.value()));
    return kDone;
  }

 private:
  ServerOptions server_;
  std::string file_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_backup_command() {
  return std::make_unique<BackupCommand>();
}

std::unique_ptr<Command> make_restore_command() {
  return std::make_unique<RestoreCommand>();
}

}  // namespace muster::cli
