#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "server/config.h"

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
      {"dev", "", "Try it: state in ./.muster, plaintext on loopback, no limits", set_dev},
      {"engine", "URL", "file:///dir, etcd://host:port/prefix, s3://bucket/prefix or managed",
       [](Config& c, Text v) { return set_text(c.engine, v); }},
      {"id", "ID", "Names this server for ever; the host's name unless given",
       [](Config& c, Text v) { return set_text(c.id, v); }},
      {"cluster", "NAME", "Names the cluster; a server of another name is refused by its engine",
       [](Config& c, Text v) { return set_text(c.cluster, v); }},
      {"data-dir", "DIR", "Where this server keeps its files",
       [](Config& c, Text v) { return set_text(c.data_dir, v); }},
      {"listen", "HOST:PORT", "gRPC; 127.0.0.1:9000 unless given",
       [](Config& c, Text v) { return set_address(c.listen, v, 9000); }},
      {"advertise", "HOST:PORT", "What clients are told to dial; where it listens unless given",
       [](Config& c, Text v) { return set_address(c.advertise, v, 9000); }},
      {"http-listen", "HOST:PORT",
       "Page, /metrics and /api; 127.0.0.1:9002 unless given, off for none",
       [](Config& c, Text v) {
         c.http = v != "off";
         if (!c.http) return Status(Done{});
         return set_address(c.http_listen, v, 9002);
       }},
      {"log-format", "FORMAT", "text or json, one line each; text unless given",
       [](Config& c, Text v) {
         c.log_json = v == "json";
         return v == "json" || v == "text" ? Status(Done{})
                                           : Status(Errc::kInvalid, "a log format is text or json");
       }},
      {"log-level", "LEVEL", "debug, info, warn or error; muster server log-level changes it",
       [](Config& c, Text v) {
         const auto level = parse_log_level(v);
         if (!level) return Status(level.error());
         c.log_level = *level;
         return Status(Done{});
       }},
      {"peers", "ID=HOST:PORT,…", "The first 1, 3 or 5 members of a managed engine", set_peers},
      {"join", "HOST:PORT,…", "Ask these servers to admit this one to their managed engine",
       set_join},
      {"peer-listen", "HOST:PORT",
       "Where a managed engine listens; as in --peers unless given. A name is every interface",
       [](Config& c, Text v) { return set_address(c.peer_listen, v, 9001); }},
      {"etcd", "PROGRAM", "What a managed engine runs; etcd from PATH unless given",
       [](Config& c, Text v) { return set_text(c.etcd, v); }},
      {"engine-quota-mb", "N", "A managed engine may grow so large; 2048 unless given",
       [](Config& c, Text v) { return set_count(c.engine_quota_mb, v); }},
      {"restore", "FILE", "Fill a new managed engine of one from a backup, and end",
       [](Config& c, Text v) { return set_text(c.restore, v); }},
      {"cert", "FILE", "This server's certificate (PEM)",
       [](Config& c, Text v) { return set_text(c.tls.cert, v); }},
      {"key", "FILE", "The key of --cert (PEM)",
       [](Config& c, Text v) { return set_text(c.tls.key, v); }},
      {"cacert", "FILE", "Who vouches for servers and clients (PEM)",
       [](Config& c, Text v) { return set_text(c.tls.ca, v); }},
      {"crl-file", "FILE", "The list of revoked certificates (PEM or DER)",
       [](Config& c, Text v) { return set_text(c.crl_file, v); }},
      {"crl-url", "URL", "Where that list is fetched instead",
       [](Config& c, Text v) { return set_text(c.crl_url, v); }},
      {"crl-refresh", "TIME", "How often it is fetched; 5m",
       [](Config& c, Text v) { return set_duration(c.crl_refresh, v); }},
      {"crl-max-age", "TIME", "Without a fresh one for so long nobody is let in; 1h",
       [](Config& c, Text v) { return set_duration(c.crl_max_age, v); }},
      {"connection-max-age", "TIME", "Clients show their certificate again after this long; 10m",
       [](Config& c, Text v) { return set_duration(c.connection_max_age, v); }},
      {"insecure", "", "Plaintext; on loopback only",
       [](Config& c, Text v) { return set_flag(c.insecure, v); }},
      {"audit-log", "FILE", "Record every change and every refused call there, as JSON lines",
       [](Config& c, Text v) { return set_text(c.audit_log, v); }},
      {"limits", "on|off", "Refuse clients that ask too often; off on loopback only",
       [](Config& c, Text v) { return set_flag(c.limited, v); }},
      {"limits-heartbeat", "RATE", "Heartbeats of a node, PER_MINUTE:BURST; 10:5",
       [](Config& c, Text v) { return set_rate(c.limits.heartbeat, v); }},
      {"limits-register", "RATE", "Registrations of a client; 10:2",
       [](Config& c, Text v) { return set_rate(c.limits.register_node, v); }},
      {"limits-deregister", "RATE", "Deregistrations of a client; 10:2",
       [](Config& c, Text v) { return set_rate(c.limits.deregister, v); }},
      {"limits-get-topology", "RATE", "Readings of the topology by a client; 100:10",
       [](Config& c, Text v) { return set_rate(c.limits.get_topology, v); }},
      {"limits-read", "RATE", "Readings of the store by a client; 60000:2000",
       [](Config& c, Text v) { return set_rate(c.limits.read, v); }},
      {"limits-connections", "N", "Connections of all clients; 20000",
       [](Config& c, Text v) { return set_count(c.connections, v); }},
      {"limits-watches", "N", "Watches that a client may have open; 10",
       [](Config& c, Text v) { return set_count(c.limits.watches, v); }},
      {"limits-calls", "N", "Calls of any kind that a client may have open; 1000",
       [](Config& c, Text v) { return set_count(c.limits.calls, v); }},
      {"limits-all-heartbeats", "RATE", "Heartbeats of all clients; 10000:500",
       [](Config& c, Text v) { return set_rate(c.limits.all_heartbeats, v); }},
      {"limits-all-registers", "RATE", "Registrations of all clients; 1000:50",
       [](Config& c, Text v) { return set_rate(c.limits.all_registers, v); }},
      {"limits-all-writes", "RATE", "Changes and heartbeats of all clients; 50000:1000",
       [](Config& c, Text v) { return set_rate(c.limits.all_writes, v); }},
      {"heartbeat-interval", "TIME", "How often nodes send a heartbeat; 10s unless given",
       [](Config& c, Text v) { return set_duration(c.membership.heartbeat_interval, v); }},
      {"suspect-timeout", "TIME", "Silence until ACTIVE becomes SUSPECT; 45s",
       [](Config& c, Text v) { return set_duration(c.membership.suspect_timeout, v); }},
      {"down-timeout", "TIME", "Silence until SUSPECT becomes DOWN; 90s",
       [](Config& c, Text v) { return set_duration(c.membership.down_timeout, v); }},
      {"joining-timeout", "TIME", "How long a node may stay JOINING; 5m",
       [](Config& c, Text v) { return set_duration(c.membership.joining_timeout, v); }},
      {"leader-grace-period", "TIME", "After an election no node goes DOWN for this long; 90s",
       [](Config& c, Text v) { return set_duration(c.membership.leader_grace_period, v); }},
      {"heartbeat-batch-interval", "TIME", "Heartbeats are gathered for this long; 1s, on S3 10s",
       [](Config& c, Text v) { return set_duration(c.heartbeat_batch_interval, v); }},
      {"flap-window", "TIME", "In which suspicions count as flapping; 10m",
       [](Config& c, Text v) { return set_duration(c.membership.flap_window, v); }},
      {"flap-threshold", "N", "So many suspicions are flapping; 3",
       [](Config& c, Text v) { return set_count(c.membership.flap_threshold, v); }},
      {"down-brake-share", "SHARE", "No more of the nodes go DOWN at once; 0.2",
       [](Config& c, Text v) { return set_share(c.membership.down_brake_share, v); }},
      {"down-brake-window", "TIME", "What \"at once\" means; 5m",
       [](Config& c, Text v) { return set_duration(c.membership.down_brake_window, v); }},
      {"virtual-nodes-per-physical", "N",
       "Virtual nodes of a node on the ring of a new cluster; 16 (later: muster ring set)",
       [](Config& c, Text v) {
         c.ring_given = true;
         return set_count(c.membership.ring.virtual_nodes_per_physical, v);
       }},
      {"replication-factor", "N",
       "Nodes that hold a key in a new cluster; 3 (later: muster ring set)",
       [](Config& c, Text v) {
         c.ring_given = true;
         return set_count(c.membership.ring.replication_factor, v);
       }},
      {"lease-timeout", "TIME", "A leader silent for this long is replaced; 2s, on S3 15s",
       [](Config& c, Text v) { return set_duration(c.lease_timeout, v); }},
      {"renew-interval", "TIME", "Between two renewals; a fifth of the lease",
       [](Config& c, Text v) { return set_duration(c.renew_interval, v); }},
      {"request-timeout", "TIME", "How long a request to the engine may take; a fifth of the lease",
       [](Config& c, Text v) { return set_duration(c.request_timeout, v); }},
      {"snapshot-entries", "N", "Entries of the log between two snapshots; 10000",
       [](Config& c, Text v) { return set_count(c.snapshot_entries, v); }},
  };
  return options;
}

}  // namespace

const std::vector<ServerOption>& server_options() {
  return table();
}

}  // namespace muster
