#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "platform/unique_fd.h"

namespace muster::testing {

struct EtcdClusterOptions {
  int members = 1;
  /// Clients must show a certificate of the cluster's own CA and speak TLS.
  bool mutual_tls = false;
  /// Data on tmpfs: fast. False puts it beside other temporary files: honest.
  bool tmpfs = true;
  std::vector<std::string> extra_args{};
};

/// Real etcd members (Debian's `etcd`) as children on loopback, for tests.
///
/// Ports stay reserved for the cluster's life, so that a member restarts where it was. Members die
/// with the thread that made the cluster, however it ends, and their files with the cluster.
/// Every failure to start throws std::runtime_error with the member's last log lines.
/// One thread.
class EtcdCluster {
 public:
  /// Starts all members and returns when they agree on a leader.
  explicit EtcdCluster(EtcdClusterOptions options = {});
  ~EtcdCluster();
  EtcdCluster(const EtcdCluster&) = delete;
  EtcdCluster& operator=(const EtcdCluster&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
  /// 127.0.0.1:port of one member, or of all with commas between.
  [[nodiscard]] std::string endpoint(int member) const;
  [[nodiscard]] std::string endpoints() const;
  /// etcd://…/prefix with every member.
  [[nodiscard]] std::string url(const std::string& prefix) const;

  void kill(int member);     ///< SIGKILL, and reaped on return.
  void stop(int member);     ///< SIGSTOP, in force on return: connections stay, nothing answers.
  void cont(int member);     ///< SIGCONT.
  void restart(int member);  ///< Kills it if it runs, starts it on its data, waits until it serves.
  /// As restart(), with the member's data gone; one member only. The cluster's id follows from its
  /// addresses and this token: another token makes another cluster, "etcd-cluster", which is
  /// etcd's default, the same one with an earlier history.
  void restart_empty(const std::string& token);
  /// A copy of everything, by `etcdctl snapshot save`, in a file of this name; one member only.
  void save_snapshot(const std::string& name) const;
  /// Kills the member, and starts it with what `etcdctl snapshot restore` makes of such a file.
  void restore_snapshot(const std::string& name);

  /// The process of a member that runs.
  [[nodiscard]] pid_t pid(int member) const { return at(member).pid; }
  /// The member that runs, is not stopped and leads by its own account; waits up to 20 s for one.
  [[nodiscard]] int leader() const;

  /// Runs etcdctl against one member and returns what it printed; throws when it fails.
  std::string ctl(int member, std::vector<std::string> args) const;
  /// Makes the user root with this password and switches authentication on.
  void enable_auth(const std::string& root_password);

  /// PEM files, with mutual_tls.
  [[nodiscard]] std::string ca_file() const { return (dir_ / "ca.pem").string(); }
  [[nodiscard]] std::string client_cert_file() const { return (dir_ / "client.pem").string(); }
  [[nodiscard]] std::string client_key_file() const { return (dir_ / "client.key").string(); }
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }

 private:
  struct Member {
    pid_t pid = -1;
    bool stopped = false;
    UniqueFd client_hold, peer_hold;
    int client_port = 0, peer_port = 0;
  };

  void clean_up();
  void make_certificates() const;
  void start(int member);
  void await_leader();
  [[nodiscard]] std::optional<int> find_leader() const;
  [[nodiscard]] std::string log_tail(int member) const;
  Member& at(int member) { return members_.at(static_cast<std::size_t>(member)); }
  const Member& at(int member) const { return members_.at(static_cast<std::size_t>(member)); }

  EtcdClusterOptions options_;
  std::filesystem::path dir_;
  std::vector<Member> members_;
  std::string ctl_user_;
};

}  // namespace muster::testing
