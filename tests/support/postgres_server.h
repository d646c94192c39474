#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "platform/unique_fd.h"

namespace muster::testing {

struct PostgresOptions {
  /// Lines of postgresql.conf on top.
  std::vector<std::string> settings{};
  /// Lines of pg_hba.conf before the default, which trusts everybody on this machine.
  std::vector<std::string> access{};
  bool with_table = true;  ///< Makes muster.objects in the database `postgres`.
};

/// A real PostgreSQL (Debian's) as a child on loopback, for tests. It runs as the user `postgres`
/// if the tests run as root, which the server refuses.
///
/// The port stays reserved for its life, so that it restarts where it was. It dies with the thread
/// that made it, and its files with this. Every failure to start throws std::runtime_error with the
/// last lines of the log. One thread.
class PostgresServer {
 public:
  explicit PostgresServer(PostgresOptions options = {});
  /// A standby of `primary`, by a base backup, that streams.
  PostgresServer(PostgresServer& primary, PostgresOptions options);
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  [[nodiscard]] std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int port() const { return port_; }
  /// postgres://…/postgres?prefix=PREFIX of this server, as the superuser.
  [[nodiscard]] std::string url(const std::string& prefix) const;

  void kill();          ///< SIGKILL for every process, reaped on return.
  void stop_cleanly();  ///< A fast shutdown.
  void pause();         ///< SIGSTOP for every process: connections stay, nothing answers.
  void resume();        ///< SIGCONT.
  void start();         ///< On its data; waits until it answers.
  void restart() { kill(), start(); }
  /// Makes a standby a primary; returns when it accepts writes.
  void promote();
  [[nodiscard]] bool is_running() const { return pid_ > 0; }

  /// Copies the data as pg_basebackup does.
  void save_backup(const std::string& name);
  /// Kills the server and starts it on such a copy.
  void restore_backup(const std::string& name);

  /// Runs psql as the superuser, and returns what it printed, without the last line's end.
  std::string sql(const std::string& text, const std::string& database = "postgres") const;
  /// Adds a line of postgresql.conf and has the server read it.
  void set(const std::string& line);
  /// A file of this server's directory.
  [[nodiscard]] std::string file(const std::string& name) const { return (dir_ / name).string(); }
  /// Writes a file that the server may read and nobody else.
  void write_file(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string log_tail() const;

 private:
  void make_directory();
  void write_settings(const std::string& data, const PostgresOptions& options) const;
  void clean_up();
  [[nodiscard]] std::vector<pid_t> processes() const;
  void give(const std::filesystem::path& path) const;

  std::filesystem::path dir_;
  std::string data_;
  UniqueFd port_hold_;
  int port_ = 0;
  pid_t pid_ = -1;
  bool paused_ = false;
};

/// A pgbouncer in transaction mode in front of a server.
class Pgbouncer {
 public:
  explicit Pgbouncer(const PostgresServer& server);
  ~Pgbouncer();
  Pgbouncer(const Pgbouncer&) = delete;
  Pgbouncer& operator=(const Pgbouncer&) = delete;

  [[nodiscard]] std::string url(const std::string& prefix) const;
  /// Leads to another server from the next connection on, and ends those that there are.
  void lead_to(const PostgresServer& server);

 private:
  void write_settings(const PostgresServer& server) const;
  void start();
  void kill();

  std::filesystem::path dir_;
  UniqueFd port_hold_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace muster::testing
