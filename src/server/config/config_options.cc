#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "server/config/config.h"

/// The table of musterd's options: one row each. A new option is a field and a row.

namespace muster {
namespace {

using Config = ServerConfig;
using Text = const std::string&;

Status set_text(std::string& target, Text value) {
  if (value.empty()) return {Errc::kInvalid, "the value is empty"};
  target = value;
  return Done{};
}

Status set_duration(Duration& target, Text value) {
  const auto duration = parse_duration(value);
  if (!duration) return duration.error();
  if (*duration <= 0s) return {Errc::kInvalid, "the time must be above zero"};
  target = *duration;
  return Done{};
}

template <typename Number>
Status set_count(Number& target, Text value) {
  const auto number = parse_unsigned(value);
  if (!number || *number == 0 || *number > std::numeric_limits<std::uint32_t>::max()) {
    return {Errc::kInvalid, "\"" + value + "\" is not a whole number above zero"};
  }
  target = static_cast<Number>(*number);
  return Done{};
}

Status set_share(double& target, Text value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number)) {
    return {Errc::kInvalid, "\"" + value + "\" is not a number"};
  }
  target = number;
  return Done{};
}

Status set_flag(bool& target, Text value) {
  const auto flag = parse_bool(value);
  if (!flag) return flag.error();
  target = *flag;
  return Done{};
}

template <typename Target>
Status set_address(Target& target, Text value, std::uint16_t port) {
  const auto address = Address::parse(value, port);
  if (!address) return address.error();
  target = *address;
  return Done{};
}

Status set_rate(Rate& target, Text value) {
  const auto rate = parse_rate(value);
  if (!rate) return rate.error();
  target = *rate;
  return Done{};
}

Status set_peers(Config& config, Text value) {
  std::vector<Config::Peer> peers;
  for (const std::string_view part : split(value, ',')) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) {
      return {Errc::kInvalid,
              "\"" + std::string(part) + "\" is not ID=HOST:PORT; write s1=h1:9001,s2=h2:9001,…"};
    }
    const auto address = Address::parse(part.substr(equals + 1), 9001);
    if (!address) return address.error();
    peers.push_back({std::string(part.substr(0, equals)), *address});
  }
  config.peers = std::move(peers);
  return Done{};
}

Status set_join(Config& config, Text value) {
  std::vector<Address> servers;
  for (const std::string_view part : split(value, ',')) {
    const auto address = Address::parse(part, 9000);
    if (!address) return address.error();
    servers.push_back(*address);
  }
  config.join = std::move(servers);
  return Done{};
}

// The first of all, so that every other option overrides what it presets.
Status set_dev(Config& config, Text value) {
  bool dev = false;
  if (Status status = set_flag(dev, value); !status || !dev) return status;
  config.insecure = true;
  config.limited = false;
  config.data_dir = ".muster";
  return Done{};
}

const std::vector<ServerOption>& table() {
  static const std::vector<ServerOption> options{
      {"dev", "", "Development mode: state in ./.muster, plaintext on loopback, no limits",
       set_dev},
      {"engine", "URL",
       "Engine that keeps the state: file:///dir, etcd://host:port/prefix, s3://bucket/prefix or "
       "managed",
       [](Config& c, Text v) { return set_text(c.engine, v); }},
      {"id", "ID", "Permanent id of this server (default: host name)",
       [](Config& c, Text v) { return set_text(c.id, v); }},
      {"cluster", "NAME", "Cluster name; an engine refuses servers of another cluster",
       [](Config& c, Text v) { return set_text(c.cluster, v); }},
      {"data-dir", "DIR", "Directory of this server's files",
       [](Config& c, Text v) { return set_text(c.data_dir, v); }},
      {"listen", "HOST:PORT", "Address for gRPC (default: 127.0.0.1:9000)",
       [](Config& c, Text v) { return set_address(c.listen, v, 9000); }},
      {"advertise", "HOST:PORT", "Address that clients are told to connect to (default: --listen)",
       [](Config& c, Text v) { return set_address(c.advertise, v, 9000); }},
      {"http-listen", "HOST:PORT",
       "Address for the page, /metrics and /api, or off (default: 127.0.0.1:9002)",
       [](Config& c, Text v) {
         c.http = v != "off";
         if (!c.http) return Status(Done{});
         return set_address(c.http_listen, v, 9002);
       }},
      {"log-format", "FORMAT", "Log format: text or json, one line per entry (default: text)",
       [](Config& c, Text v) {
         c.log_json = v == "json";
         return v == "json" || v == "text" ? Status(Done{})
                                           : Status(Errc::kInvalid, "a log format is text or json");
       }},
      {"log-level", "LEVEL",
       "Log level: debug, info, warn or error (default: info); muster server log-level changes it",
       [](Config& c, Text v) {
         const auto level = parse_log_level(v);
         if (!level) return Status(level.error());
         c.log_level = *level;
         return Status(Done{});
       }},
      {"peers", "ID=HOST:PORT,…", "Initial 1, 3 or 5 members of a managed engine", set_peers},
      {"join", "HOST:PORT,…", "Servers of a managed engine that this server joins", set_join},
      {"peer-listen", "HOST:PORT",
       "Address of this member of a managed engine (default: as in --peers); a host name means "
       "every interface",
       [](Config& c, Text v) { return set_address(c.peer_listen, v, 9001); }},
      {"etcd", "PROGRAM", "Program of a managed engine (default: etcd from PATH)",
       [](Config& c, Text v) { return set_text(c.etcd, v); }},
      {"engine-quota-mb", "N", "Maximum size of a managed engine in MB (default: 2048)",
       [](Config& c, Text v) { return set_count(c.engine_quota_mb, v); }},
      {"restore", "FILE", "Fill a new managed engine of one member from a backup, then exit",
       [](Config& c, Text v) { return set_text(c.restore, v); }},
      {"cert", "FILE", "Certificate of this server (PEM file)",
       [](Config& c, Text v) { return set_text(c.tls.cert, v); }},
      {"key", "FILE", "Private key of --cert (PEM file)",
       [](Config& c, Text v) { return set_text(c.tls.key, v); }},
      {"cacert", "FILE", "CA certificate that verifies servers and clients (PEM file)",
       [](Config& c, Text v) { return set_text(c.tls.ca, v); }},
      {"crl-file", "FILE", "Certificate revocation list (PEM or DER file)",
       [](Config& c, Text v) { return set_text(c.crl_file, v); }},
      {"crl-url", "URL", "URL of the revocation list, instead of --crl-file",
       [](Config& c, Text v) { return set_text(c.crl_url, v); }},
      {"crl-refresh", "TIME", "Interval between reads of the revocation list (default: 5m)",
       [](Config& c, Text v) { return set_duration(c.crl_refresh, v); }},
      {"crl-max-age", "TIME",
       "Maximum age of the revocation list; with an older one all clients are refused (default: "
       "1h)",
       [](Config& c, Text v) { return set_duration(c.crl_max_age, v); }},
      {"connection-max-age", "TIME",
       "Maximum age of a connection; clients then connect and authenticate again (default: 10m)",
       [](Config& c, Text v) { return set_duration(c.connection_max_age, v); }},
      {"insecure", "", "Use plaintext; on loopback only",
       [](Config& c, Text v) { return set_flag(c.insecure, v); }},
      {"audit-log", "FILE", "File that records every change and every refused call as JSON lines",
       [](Config& c, Text v) { return set_text(c.audit_log, v); }},
      {"limits", "on|off", "Rate limits for clients; off is for loopback only (default: on)",
       [](Config& c, Text v) { return set_flag(c.limited, v); }},
      {"limits-heartbeat", "RATE", "Heartbeats of one node, PER_MINUTE:BURST (default: 10:5)",
       [](Config& c, Text v) { return set_rate(c.limits.heartbeat, v); }},
      {"limits-register", "RATE", "Registrations of one client (default: 10:2)",
       [](Config& c, Text v) { return set_rate(c.limits.register_node, v); }},
      {"limits-deregister", "RATE", "Deregistrations of one client (default: 10:2)",
       [](Config& c, Text v) { return set_rate(c.limits.deregister, v); }},
      {"limits-get-topology", "RATE", "Topology reads of one client (default: 100:10)",
       [](Config& c, Text v) { return set_rate(c.limits.get_topology, v); }},
      {"limits-read", "RATE", "Store reads of one client (default: 60000:2000)",
       [](Config& c, Text v) { return set_rate(c.limits.read, v); }},
      {"limits-connections", "N", "Connections of all clients (default: 20000)",
       [](Config& c, Text v) { return set_count(c.connections, v); }},
      {"limits-client-connections", "N",
       "Connections of one client, at most a quarter of --limits-connections (default: 1000)",
       [](Config& c, Text v) { return set_count(c.client_connections, v); }},
      {"limits-watches", "N", "Open watches of one client (default: 10)",
       [](Config& c, Text v) { return set_count(c.limits.watches, v); }},
      {"limits-calls", "N", "Open calls of any kind of one client (default: 1000)",
       [](Config& c, Text v) { return set_count(c.limits.calls, v); }},
      {"limits-all-heartbeats", "RATE", "Heartbeats of all clients (default: 10000:500)",
       [](Config& c, Text v) { return set_rate(c.limits.all_heartbeats, v); }},
      {"limits-all-registers", "RATE", "Registrations of all clients (default: 1000:50)",
       [](Config& c, Text v) { return set_rate(c.limits.all_registers, v); }},
      {"limits-all-writes", "RATE", "Changes and heartbeats of all clients (default: 50000:1000)",
       [](Config& c, Text v) { return set_rate(c.limits.all_writes, v); }},
      {"heartbeat-interval", "TIME", "Interval between heartbeats of a node (default: 10s)",
       [](Config& c, Text v) { return set_duration(c.membership.heartbeat_interval, v); }},
      {"suspect-timeout", "TIME",
       "Silence after which an ACTIVE node becomes SUSPECT (default: 45s)",
       [](Config& c, Text v) { return set_duration(c.membership.suspect_timeout, v); }},
      {"down-timeout", "TIME", "Silence after which a SUSPECT node becomes DOWN (default: 90s)",
       [](Config& c, Text v) { return set_duration(c.membership.down_timeout, v); }},
      {"joining-timeout", "TIME", "Maximum time in state JOINING (default: 5m)",
       [](Config& c, Text v) { return set_duration(c.membership.joining_timeout, v); }},
      {"leader-grace-period", "TIME",
       "Time after an election in which no node goes DOWN (default: 90s)",
       [](Config& c, Text v) { return set_duration(c.membership.leader_grace_period, v); }},
      {"heartbeat-batch-interval", "TIME",
       "Interval between batches of heartbeats in the log (default: 1s, on S3 10s)",
       [](Config& c, Text v) { return set_duration(c.heartbeat_batch_interval, v); }},
      {"flap-window", "TIME",
       "Time window in which suspicions are counted as flapping (default: 10m)",
       [](Config& c, Text v) { return set_duration(c.membership.flap_window, v); }},
      {"flap-threshold", "N",
       "Number of suspicions in the window that count as flapping (default: 3)",
       [](Config& c, Text v) { return set_count(c.membership.flap_threshold, v); }},
      {"down-brake-share", "SHARE",
       "Maximum share of nodes that may go DOWN within the brake window (default: 0.2)",
       [](Config& c, Text v) { return set_share(c.membership.down_brake_share, v); }},
      {"down-brake-window", "TIME", "Length of the brake window (default: 5m)",
       [](Config& c, Text v) { return set_duration(c.membership.down_brake_window, v); }},
      {"virtual-nodes-per-physical", "N",
       "Virtual nodes per node on the ring of a new cluster (default: 16); later: muster ring set",
       [](Config& c, Text v) {
         c.ring_given = true;
         return set_count(c.membership.ring.virtual_nodes_per_physical, v);
       }},
      {"replication-factor", "N",
       "Nodes that hold each key in a new cluster (default: 3); later: muster ring set",
       [](Config& c, Text v) {
         c.ring_given = true;
         return set_count(c.membership.ring.replication_factor, v);
       }},
      {"lease-timeout", "TIME",
       "Lease: a leader that has not renewed for TIME is replaced (default: 2s, on S3 15s)",
       [](Config& c, Text v) { return set_duration(c.lease_timeout, v); }},
      {"renew-interval", "TIME", "Interval between renewals (default: a fifth of the lease)",
       [](Config& c, Text v) { return set_duration(c.renew_interval, v); }},
      {"request-timeout", "TIME",
       "Limit for one request to the engine (default: a fifth of the lease)",
       [](Config& c, Text v) { return set_duration(c.request_timeout, v); }},
      {"snapshot-entries", "N", "Log entries between two snapshots (default: 10000)",
       [](Config& c, Text v) { return set_count(c.snapshot_entries, v); }},
  };
  return options;
}

}  // namespace

const std::vector<ServerOption>& server_options() {
  return table();
}

}  // namespace muster
