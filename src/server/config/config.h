#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "candidate/candidate_options.h"
#include "core/limits/request_limits.h"
#include "core/membership/options.h"
#include "core/net/address.h"
#include "store/open/open.h"

namespace muster {

/// The configuration of musterd. Plain values: code that makes one by hand must call complete()
/// and validate(), as read_server_config() does.
struct ServerConfig {
  struct Peer {
    std::string id;
    Address address;  ///< Where its engine member is reached by the others.
    bool operator==(const Peer&) const = default;
  };

  /// file:///dir, etcd://…, s3://…, or "managed": a Raft cluster of musterd's own.
  std::string engine;
  /// Names this server among all of them, for ever.
  std::string id;
  std::string data_dir;
  /// The name of the cluster, kept in the log: a log of another name is refused. May be empty.
  std::string cluster;
  Address listen{"127.0.0.1", 9000};
  /// What clients and leader hints are told; the bound address unless given.
  std::optional<Address> advertise;

  /// The page, /metrics and /api. Not given: port 9002 of loopback, or another one when that is
  /// taken.
  std::optional<Address> http_listen;
  bool http = true;  ///< Whether there is such a listener at all.

  /// json or text, one line each.
  bool log_json = false;
  LogLevel log_level = LogLevel::kInfo;

  /// A managed engine's first members, this one included.
  std::vector<Peer> peers;
  /// Servers (their gRPC addresses) of the cluster to be admitted to.
  std::vector<Address> join;
  /// Where this member's peers find it; its address in `peers` unless given.
  std::optional<Address> peer_listen;
  /// The etcd that a managed engine runs.
  std::string etcd = "etcd";
  /// A managed engine refuses writes beyond this size, until it has been compacted.
  std::uint64_t engine_quota_mb = 2048;

  /// Fill the new engine from this backup, and end. Only for a managed engine of one: others can be
  /// reached without a server.
  std::string restore;

  /// All three, unless insecure.
  TlsFiles tls;
  /// The source of the revocation list: a file, a URL, or none.
  std::string crl_file;
  std::string crl_url;
  Duration crl_refresh = 5min;
  /// Without a fresh list for so long, nobody is let in.
  Duration crl_max_age = 1h;
  /// Clients connect again after this long, with the certificate that they have by then.
  Duration connection_max_age = 10min;
  /// Plaintext, and hence loopback only.
  bool insecure = false;

  /// How often clients may ask; off on loopback only.
  bool limited = true;
  RequestLimitOptions limits;
  /// That are open at a time. Fewer when this process may not open as many files.
  std::uint32_t connections = 20'000;
  /// Of these, one client's; at most a quarter.
  std::uint32_t client_connections = 1'000;
  /// Where changes are recorded; empty: nowhere.
  std::string audit_log;

  /// The timeouts of failure detection, and the ring.
  membership::Options membership;
  bool ring_given = false;  ///< An option of the ring was.
  /// Zero: 1 s, on S3 a heartbeat_interval, at most 10 s. complete() hands it to `membership`.
  Duration heartbeat_batch_interval{0};

  /// Of the servers' own leadership. Zero: 2 s, on S3 15 s.
  Duration lease_timeout{0};
  Duration renew_interval{0};   ///< A fifth of the lease unless given.
  Duration request_timeout{0};  ///< Likewise, at most 5 s.
  /// A snapshot is made after this many entries of the log.
  std::uint32_t snapshot_entries = 10'000;

  [[nodiscard]] bool managed() const { return engine == "managed"; }
  /// This server's address as an engine member; only for a managed engine that is valid.
  [[nodiscard]] Address own_peer() const;
  /// How this server stands for leadership.
  [[nodiscard]] CandidateOptions candidate() const;

  /// Fills in what follows from the rest: engine, id, the lease and batch interval of an S3.
  void complete();
  /// Refuses what cannot work, is not safe, or would be ignored. Each sentence says what to do.
  [[nodiscard]] Status validate() const;
};

/// One option, the same on the command line (--name), in the environment (MUSTER_NAME) and in a
/// file (name: value).
struct ServerOption {
  /// Whether SIGHUP takes over another value. Files are read again either way.
  [[nodiscard]] bool reloads() const { return name.starts_with("limits-"); }

  std::string name;
  std::string type;  ///< What its value is, for --help; empty for one that takes none.
  std::string text;
  Status (*set)(ServerConfig& config, const std::string& value);
};

/// All of them, in the order of --help.
[[nodiscard]] const std::vector<ServerOption>& server_options();
/// What --help says below them: paragraphs, the exit codes, an example.
[[nodiscard]] std::string server_notes();
/// The text of --help.
[[nodiscard]] std::string server_help();

/// What a command line asks for.
struct ServerCommand {
  bool help = false;
  bool version = false;
  ServerConfig config;  ///< Complete and valid, unless one of the above.
  /// What was given, by name of the option, as it was written.
  std::map<std::string, std::string> given;
};

/// Options that differ and that SIGHUP does not take over, in the order of --help.
[[nodiscard]] std::vector<std::string> needs_restart(
    const std::map<std::string, std::string>& before,
    const std::map<std::string, std::string>& now);

/// The configuration that `words` (without the program's name), the environment and the file named
/// by --config make together; the nearer source wins: command line, environment, file. kInvalid
/// with one sentence that names the source.
[[nodiscard]] Result<ServerCommand> read_server_config(const std::vector<std::string>& words,
                                                       const EnvironmentLookup& environment);

/// Sets what the YAML text says, without complete() and validate(). kInvalid names the line.
[[nodiscard]] Status apply_yaml(ServerConfig& config, const std::string& yaml);

}  // namespace muster
