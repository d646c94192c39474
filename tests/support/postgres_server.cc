#include "tests/support/postgres_server.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "tests/support/spawn.h"

namespace muster::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kServerUser = "postgres";

[[noreturn]] void fail_postgres(const std::string& what) {
  throw std::runtime_error("PostgresServer: " + what);
}

/// The user that servers run as; null if that is the one that the tests run as.
const passwd* server_user() {
  return ::geteuid() == 0 ? ::getpwnam(kServerUser) : nullptr;
}

/// A program of the newest PostgreSQL that is installed.
std::string program_of_postgres(const std::string& name) {
  std::string best;
  int newest = 0;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql")) {
    const fs::path path = version.path() / "bin" / name;
    const int number = std::atoi(version.path().filename().c_str());
    if (number <= newest || !fs::exists(path)) continue;
    newest = number;
    best = path.string();
  }
  if (best.empty()) fail_postgres("there is no " + name + "; install postgresql");
  return best;
}

std::vector<std::string> as_server_user(std::vector<std::string> words) {
  if (server_user() == nullptr) return words;
  // A new user forgets the signal that comes with the end of the parent.
  std::vector<std::string> all{"setpriv",
                               std::string("--reuid=") + kServerUser,
                               std::string("--regid=") + kServerUser,
                               "--clear-groups",
                               "--pdeathsig",
                               "SIGKILL"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

void must_run_postgres(const std::vector<std::string>& words) {
  const ProgramOutput output = output_of(words);
  if (output.code != 0) fail_postgres(words.back() + " failed: " + output.text);
}

fs::path make_postgres_dir() {
  const bool shm = ::access("/dev/shm", W_OK) == 0;
  std::string name =
      (shm ? fs::path("/dev/shm") : fs::temp_directory_path()) / "muster-postgres-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail_postgres("no temporary directory");
  if (const passwd* user = server_user()) {
    if (::chown(name.c_str(), user->pw_uid, user->pw_gid) != 0) fail_postgres("chown failed");
  }
  return name;
}

void write_whole(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string read_whole(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

template <typename Done>
void await_postgres(const std::string& what, std::chrono::seconds limit, Done done) {
  const auto by = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > by) fail_postgres(what);
    std::this_thread::sleep_for(20ms);
  }
}

}  // namespace

PostgresServer::PostgresServer(PostgresOptions options) {
  try {
    make_directory();
    must_run_postgres(as_server_user({program_of_postgres("initdb"), "--no-sync", "--auth=trust",
                                      "--username=postgres", "--encoding=UTF8", "--locale=C",
                                      "--pgdata=" + data_}));
    write_settings(data_, options);
    start();
    if (options.with_table) {
      static_cast<void>(
          sql(read_whole(fs::path(MUSTER_SOURCE_DIR) / "packaging/postgres/muster.sql")));
    }
  } catch (...) {
    clean_up();
    throw;
  }
}

PostgresServer::PostgresServer(PostgresServer& primary, PostgresOptions options) {
  try {
    make_directory();
    must_run_postgres(as_server_user(
        {program_of_postgres("pg_basebackup"), "--no-sync", "--checkpoint=fast",
         "--write-recovery-conf",
         "--dbname=host=127.0.0.1 user=postgres port=" + std::to_string(primary.port()) +
             " application_name=standby",
         "--pgdata=" + data_}));
    write_settings(data_, options);
    start();
  } catch (...) {
    clean_up();
    throw;
  }
}

PostgresServer::~PostgresServer() {
  clean_up();
}

void PostgresServer::make_directory() {
  dir_ = make_postgres_dir();
  data_ = (dir_ / "data").string();
  std::tie(port_hold_, port_) = reserve_port();
}

void PostgresServer::clean_up() {
  kill();
  std::error_code ignored;  // A directory that stays behind is no reason to end the test process.
  fs::remove_all(dir_, ignored);
}

void PostgresServer::give(const fs::path& path) const {
  if (const passwd* user = server_user()) {
    if (::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) fail_postgres("chown failed");
  }
}

void PostgresServer::write_file(const std::string& name, const std::string& text) const {
  write_whole(dir_ / name, text);
  fs::permissions(dir_ / name, fs::perms::owner_read | fs::perms::owner_write);
  give(dir_ / name);
}

void PostgresServer::write_settings(const std::string& data, const PostgresOptions& options) const {
  std::ofstream conf(data + "/postgresql.conf", std::ios::app);
  conf << "\nlisten_addresses = '127.0.0.1'\nport = " << port_ << "\nunix_socket_directories = '"
       << dir_.string()
       << "'\nmax_connections = 100\nshared_buffers = 16MB\nwal_level = replica\n"
          "max_wal_senders = 8\nwal_keep_size = 64MB\nhot_standby = on\nlc_messages = 'C'\n"
          "synchronous_standby_names = ''\nwal_retrieve_retry_interval = 100ms\n";
  for (const std::string& line : options.settings) conf << line << "\n";
  if (options.access.empty()) return;
  const std::string before = read_whole(data + "/pg_hba.conf");
  std::ofstream access(data + "/pg_hba.conf");
  for (const std::string& line : options.access) access << line << "\n";
  access << before;
}

std::string PostgresServer::url(const std::string& prefix) const {
  return "postgres://postgres@" + endpoint() + "/postgres?prefix=" + prefix;
}

void PostgresServer::start() {
  const UniqueFd log(
      ::open((dir_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  await_postgres("it does not start\n" + log_tail(), 30s, [&] {
    pid_ = spawn(as_server_user({program_of_postgres("postgres"), "-D", data_}), log.get());
    // What a killed one left in memory is in use until its last process has ended.
    const auto by = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < by) {
      if (::kill(pid_, 0) != 0) break;
      siginfo_t ended{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          ended.si_pid == pid_) {
        break;
      }
      const auto answer =
          output_of({program_of_postgres("psql"), "-X", "-q", "-A", "-t", "-h", dir_.string(), "-p",
                     std::to_string(port_), "-U", "postgres", "-c", "SELECT 1", "postgres"});
      if (answer.code == 0) return true;
      std::this_thread::sleep_for(20ms);
    }
    kill();
    return false;
  });
}

std::vector<pid_t> PostgresServer::processes() const {
  std::vector<pid_t> all{pid_};
  const std::string id = std::to_string(pid_);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  pid_t child = 0;
  while (children >> child) all.push_back(child);
  return all;
}

void PostgresServer::kill() {
  if (pid_ < 0) return;
  // The first one starts no more processes once it stands.
  if (!std::exchange(paused_, false)) {
    ::kill(pid_, SIGSTOP);
    static_cast<void>(await_stopped(pid_));
  }
  const std::vector<pid_t> all = processes();
  for (const pid_t each : all) ::kill(each, SIGKILL);
  reap(std::exchange(pid_, -1));
  for (const pid_t each : all) {
    await_postgres("a process does not end", 10s, [&] {
      const std::string stat = read_whole("/proc/" + std::to_string(each) + "/stat");
      const auto end = stat.rfind(')');
      return end == std::string::npos || stat[end + 2] == 'Z' || stat[end + 2] == 'X';
    });
  }
}

void PostgresServer::stop_cleanly() {
  ::kill(pid_, SIGINT);
  reap(std::exchange(pid_, -1));
}

void PostgresServer::pause() {
  ::kill(pid_, SIGSTOP);
  if (!await_stopped(pid_)) fail_postgres("it ended instead of stopping");
  for (const pid_t each : processes()) ::kill(each, SIGSTOP);
  paused_ = true;
}

void PostgresServer::resume() {
  for (const pid_t each : processes()) ::kill(each, SIGCONT);
  paused_ = false;
}

void PostgresServer::promote() {
  static_cast<void>(sql("SELECT pg_promote(true, 30)"));
  await_postgres("it is not promoted", 30s,
                 [&] { return sql("SELECT pg_is_in_recovery()") == "f"; });
}

void PostgresServer::save_backup(const std::string& name) {
  must_run_postgres(as_server_user(
      {program_of_postgres("pg_basebackup"), "--no-sync", "--checkpoint=fast",
       "--wal-method=stream", "--dbname=host=127.0.0.1 user=postgres port=" + std::to_string(port_),
       "--pgdata=" + (dir_ / name).string()}));
}

void PostgresServer::restore_backup(const std::string& name) {
  kill();
  fs::remove_all(data_);
  fs::rename(dir_ / name, data_);
  start();
}

std::string PostgresServer::sql(const std::string& text, const std::string& database) const {
  ProgramOutput output = output_of({program_of_postgres("psql"), "-X", "-q", "-A", "-t", "-v",
                                    "ON_ERROR_STOP=1", "-h", dir_.string(), "-p",
                                    std::to_string(port_), "-U", "postgres", "-c", text, database});
  if (output.code != 0) fail_postgres("psql failed: " + output.text);
  while (output.text.ends_with('\n')) output.text.pop_back();
  return std::move(output.text);
}

void PostgresServer::set(const std::string& line) {
  std::ofstream(data_ + "/postgresql.conf", std::ios::app) << line << "\n";
  static_cast<void>(sql("SELECT pg_reload_conf()"));
}

std::string PostgresServer::log_tail() const {
  const std::string all = read_whole(dir_ / "log");
  return all.substr(all.size() > 2000 ? all.size() - 2000 : 0);
}

Pgbouncer::Pgbouncer(const PostgresServer& server) : dir_(make_postgres_dir()) {
  std::tie(port_hold_, port_) = reserve_port();
  write_settings(server);
  start();
}

Pgbouncer::~Pgbouncer() {
  kill();
  std::error_code ignored;
  fs::remove_all(dir_, ignored);
}

void Pgbouncer::write_settings(const PostgresServer& server) const {
  write_whole(dir_ / "users.txt", "\"postgres\" \"\"\n");
  write_whole(
      dir_ / "pgbouncer.ini",
      "[databases]\n* = host=127.0.0.1 port=" + std::to_string(server.port()) +
          "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " + std::to_string(port_) +
          "\nunix_socket_dir =\nauth_type = trust\nauth_file = " + (dir_ / "users.txt").string() +
          "\npool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 200\n"
          "server_login_retry = 1\n");
}

void Pgbouncer::start() {
  const UniqueFd log(
      ::open((dir_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  pid_ =
      spawn(as_server_user({"/usr/sbin/pgbouncer", (dir_ / "pgbouncer.ini").string()}), log.get());
  await_postgres("pgbouncer does not start", 20s, [&] {
    return output_of({program_of_postgres("psql"), "-X", "-q", "-c", "SELECT 1",
                      "postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres"})
               .code == 0;
  });
}

void Pgbouncer::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  reap(std::exchange(pid_, -1));
}

std::string Pgbouncer::url(const std::string& prefix) const {
  return "postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres?prefix=" + prefix;
}

void Pgbouncer::lead_to(const PostgresServer& server) {
  kill();
  write_settings(server);
  start();
}

}  // namespace muster::testing
