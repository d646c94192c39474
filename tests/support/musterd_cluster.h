#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "platform/unique_fd.h"
#include "tests/support/child_process.h"

namespace muster::testing {

struct MusterdClusterOptions {
  int servers = 1;
  /// The engine that they share; empty for a directory of the only server's own.
  std::string engine{};
  std::vector<std::string> extra_args{};
  /// Where the data of servers are.
  std::filesystem::path parent = std::filesystem::temp_directory_path();
};

/// Real musterd processes as children on loopback, without TLS.
///
/// Ports stay reserved for the cluster's life, so that a server restarts where it was. Servers die
/// with the thread that made the cluster, however it ends, and their files with the cluster. Every
/// failure to start throws std::runtime_error with the server's last log lines. One thread.
class MusterdCluster {
 public:
  /// Starts all servers and returns when they agree on a leader.
  explicit MusterdCluster(MusterdClusterOptions options = {});
  ~MusterdCluster();
  MusterdCluster(const MusterdCluster&) = delete;
  MusterdCluster& operator=(const MusterdCluster&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(servers_.size()); }
  /// 127.0.0.1:port of one server, or of all with commas between.
  [[nodiscard]] std::string endpoint(int server) const;
  [[nodiscard]] std::string endpoints() const;
  /// muster://…/prefix with every server.
  [[nodiscard]] std::string url(const std::string& prefix) const;
  [[nodiscard]] pid_t pid(int server) const { return at(server).pid; }

  void kill(int server);       ///< SIGKILL, and reaped on return.
  void terminate(int server);  ///< SIGTERM, and reaped on return.
  void stop(int server);       ///< SIGSTOP, in force on return.
  void cont(int server);       ///< SIGCONT.
  void restart(int server);    ///< Kills it if it runs, starts it again, waits until it serves.

  /// The running server that leads by its own account; waits up to 30 s until all that run agree.
  [[nodiscard]] int leader() const;

 private:
  struct Server {
    pid_t pid = -1;
    bool stopped = false;
    UniqueFd hold;
    int port = 0;
  };

  void start(int server);
  void end(int server, int signal);
  [[nodiscard]] std::optional<int> find_leader() const;
  [[nodiscard]] std::string log_tail(int server) const;
  [[nodiscard]] std::filesystem::path log_file(int server) const;
  Server& at(int server) { return servers_.at(static_cast<std::size_t>(server)); }
  const Server& at(int server) const { return servers_.at(static_cast<std::size_t>(server)); }

  MusterdClusterOptions options_;
  TempDir dir_;
  std::vector<Server> servers_;
};

}  // namespace muster::testing
