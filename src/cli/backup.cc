#include "client/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/engine_options.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/server_options.h"
#include "cli/topology_text.h"
#include "client/requests.h"
#include "log/archive.h"
#include "log/move.h"
#include "platform/system_clock.h"
#include "platform/unique_fd.h"

namespace muster::cli {
namespace {

/// A transfer takes longer than a question.
constexpr Duration kTransferTimeout = 10min;

class BackupCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "backup"; }
  [[nodiscard]] const char* summary() const override { return "Write the whole state to a file"; }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster backup muster-2031-05-17.backup\n"
           "\n"
           "The backup holds the whole state at one place in the log. The file appears when it "
           "is\n"
           "complete, for its owner only (mode 0600), and an existing file is not overwritten.\n";
  }

  void declare(CLI::App& app) override {
    add_argument(app, "FILE", file_, "File to write");
    server_.timeout = kTransferTimeout;
    server_.declare(app);
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (file_.empty()) return {Errc::kInvalid, "name the file to write: muster backup FILE"};
    if (std::filesystem::exists(file_)) {
      return {Errc::kInvalid, file_ + " exists already; name another file"};
    }
    const auto client = server_.open();
    if (!client) return client.error();
    const std::string part = file_ + ".part";
    std::ofstream out;
    client::BackupSink sink;
    sink.begin = [&]() -> Status {
      // Whatever was there may be readable by others, or be a link.
      ::unlink(part.c_str());
      const UniqueFd made(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!made.valid()) return cannot_write(part);
      out = std::ofstream(part, std::ios::binary | std::ios::trunc);
      return out ? Status(Done{}) : cannot_write(part);
    };
    sink.take = [&](const std::string& data) -> Status {
      out.write(data.data(), static_cast<std::streamsize>(data.size()));
      return out ? Status(Done{}) : cannot_write(part);
    };
    const auto bytes = client::backup(**client, sink, server_.call());
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
    return "Fill an empty engine from a backup";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster restore muster-2031-05-17.backup --engine file:///var/lib/muster\n"
           "\n"
           "No server is needed, and none may run on that engine. An engine that holds a log "
           "already is\n"
           "refused with exit code 1. Versions, revisions and epochs continue from the backup. "
           "The whole\n"
           "backup is checked before anything is written. A managed engine is filled by its own "
           "server:\n"
           "musterd … --restore FILE.\n";
  }

  void declare(CLI::App& app) override {
    add_argument(app, "FILE", file_, "File that `muster backup` wrote");
    engine_.declare(app);
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (file_.empty()) return {Errc::kInvalid, "name the backup file: muster restore FILE"};
    if (Status whole = rlog::check_archive(file_); !whole) return whole.error();
    const auto engine = engine_.open(ExistingStore::kMayBeMade);
    if (!engine) return engine.error();
    std::unique_ptr<rlog::Restore> restore;
    const auto last = (*engine)->await<rlog::Index>([&](Callback<rlog::Index> done) {
      restore = std::make_unique<rlog::Restore>((*engine)->loop(), system_random(),
                                                (*engine)->place(engine_.timeout),
                                                rlog::archive_source(file_));
      restore->start(std::move(done));
    });
    (*engine)->run([&] { restore.reset(); });
    if (!last) return refused(terminal, name(), last.error());
    terminal.line(json_ ? dump({{"engine", engine_.url}, {"applied_index", last->value()}})
                        : "restored into " + engine_.url + ", up to entry " +
                              std::to_string(last->value()));
    return kDone;
  }

 private:
  EngineOptions engine_;
  std::string file_;
  bool json_ = false;
};

class MoveCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "move"; }
  [[nodiscard]] const char* summary() const override { return "Move the state to another engine"; }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster move --to etcd://h1:2379,h2:2379,h3:2379/muster\n"
           "\n"
           "The new engine must be empty and reachable from all servers. No acknowledged write is "
           "left\n"
           "behind; versions, revisions and epochs continue. When the move is complete, every "
           "server\n"
           "ends and names the --engine to start it with. If the leader dies during the move, the "
           "other\n"
           "servers finish it. Exits with 1 if the servers refuse.\n";
  }

  void declare(CLI::App& app) override {
    add_text(app, "--to", "ENGINE", to_, "Target engine: file:///dir, etcd://… or s3://…");
    server_.timeout = kTransferTimeout;
    server_.attempt_timeout = kTransferTimeout;
    server_.declare(app);
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (to_.empty()) return {Errc::kInvalid, "name the target engine: muster move --to ENGINE"};
    const auto client = server_.open();
    if (!client) return client.error();
    const auto sealed = (*client)->call(client::MoveLog{to_}, server_.call());
    if (!sealed) return refused(terminal, name(), sealed.error());
    terminal.line(json_ ? dump({{"engine", to_}, {"sealed_index", *sealed}})
                        : "moved to " + to_ + "; start every server with --engine " + to_);
    return kDone;
  }

 private:
  ServerOptions server_;
  std::string to_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_backup_command() {
  return std::make_unique<BackupCommand>();
}

std::unique_ptr<Command> make_restore_command() {
  return std::make_unique<RestoreCommand>();
}

std::unique_ptr<Command> make_move_command() {
  return std::make_unique<MoveCommand>();
}

}  // namespace muster::cli
