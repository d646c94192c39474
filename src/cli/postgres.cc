#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <future>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "platform/event_loop.h"
#include "store/postgres/setup.h"

namespace muster::cli {
namespace {

class PostgresCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "postgres"; }
  [[nodiscard]] const char* summary() const override {
    return "Prepare a PostgreSQL database as a store";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster postgres init postgres://owner@db.example/app --role app\n"
           "  muster postgres sql\n";
  }

  void declare(CLI::App& app) override {
    app.require_subcommand(0, 1);
    init_ = app.add_subcommand("init", "Create the table muster.objects in a database");
    init_->footer(
        "\nExample:\n"
        "  muster postgres init postgres://owner@db.example/app --role app\n"
        "\n"
        "The role of the address must be allowed to create a schema in the database. The role of\n"
        "--role then needs nothing else, and its processes use postgres://app@db.example/app.\n"
        "Changes no table that exists. Passwords come from ~/.pgpass, PGPASSWORD or a service "
        "file.\n");
    add_argument(*init_, "url", url_, "Address of the database: postgres://user@host/database");
    add_text(*init_, "--role", "ROLE", role_, "Role that may use the table");
    add_text(*init_, "--cacert", "FILE", tls_.ca,
             "CA certificate that verifies the server (PEM file)");
    add_text(*init_, "--cert", "FILE", tls_.cert, "Client certificate (PEM file); requires --key");
    add_text(*init_, "--key", "FILE", tls_.key, "Private key of --cert (PEM file)");
    add_duration(*init_, "--timeout", timeout_, "Limit for everything");
    sql_ = app.add_subcommand("sql", "Print the SQL that init runs");
    sql_->footer(
        "\nExample:\n  muster postgres sql --role app | psql -d app\n\n"
        "For databases whose owner makes every change.\n");
    add_text(*sql_, "--role", "ROLE", role_, "Role that may use the table");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (sql_->parsed()) return print(terminal);
    if (!init_->parsed()) return {Errc::kInvalid, "say what to do: init or sql"};
    if (url_.empty()) {
      return {Errc::kInvalid,
              "name the database: muster postgres init postgres://user@host/database"};
    }
    if (timeout_ <= Duration(0)) return {Errc::kInvalid, "--timeout must be above zero"};
    const auto url = Url::parse(url_);
    if (!url) return url.error();
    const Status made = make(*url);
    if (!made) return made.error();
    terminal.line("muster.objects is ready in " + url->redacted() +
                  (role_.empty() ? std::string() : "; " + role_ + " may use it"));
    return kDone;
  }

 private:
  Result<int> print(Terminal& terminal) const {
    for (const std::string& statement : postgres::schema_statements()) terminal.line(statement);
    if (role_.empty()) return kDone;
    for (const std::string& statement : postgres::grant_statements(role_)) terminal.line(statement);
    return kDone;
  }

  Status make(const Url& url) {
    LoopThread thread;
    Result<std::unique_ptr<postgres::Setup>> setup = Error{Errc::kUnavailable, "not opened"};
    std::promise<Status> answered;
    thread.run([&] {
      setup = postgres::open_setup(url, tls_, thread.loop());
      if (!setup) return answered.set_value(setup.error());
      (*setup)->start(role_, thread.loop().now() + timeout_,
                      [&](Status status) { answered.set_value(std::move(status)); });
    });
    Status status = answered.get_future().get();
    thread.run([&] { setup = Error{Errc::kUnavailable, "closed"}; });
    return status;
  }

  CLI::App* init_ = nullptr;
  CLI::App* sql_ = nullptr;
  std::string url_;
  std::string role_;
  TlsFiles tls_;
  Duration timeout_ = 10s;
};

}  // namespace

std::unique_ptr<Command> make_postgres_command() {
  return std::make_unique<PostgresCommand>();
}

}  // namespace muster::cli
