#include "server/config/config.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "core/election/records.h"
#include "platform/host.h"
#include "store/url.h"

namespace muster {
namespace {

bool on_s3(const ServerConfig& config) {
  return config.engine.starts_with("s3:");
}

Status check_engine(const ServerConfig& config) {
  if (config.engine.empty()) {
    return invalid("no place to keep state; give --data-dir, --engine, or --dev for a trial");
  }
  if (config.managed()) {
    if (config.data_dir.empty()) return invalid("a managed engine needs its own --data-dir");
    return Done{};
  }
  if (!config.peers.empty() || !config.join.empty() || config.peer_listen) {
    return invalid("--peers, --join and --peer-listen are for --engine managed; with " +
                   config.engine.substr(0, config.engine.find(':')) +
                   "://, give every server the same --engine");
  }
  const ServerConfig unset;
  if (config.etcd != unset.etcd || config.engine_quota_mb != unset.engine_quota_mb) {
    return invalid(
        "--etcd and --engine-quota-mb are for --engine managed, which runs an etcd itself");
  }
  const auto url = Url::parse(config.engine);
  if (!url) return invalid("--engine: " + url.error().message);
  if (url->scheme != "file" && url->scheme != "etcd" && url->scheme != "s3") {
    return invalid(
        "--engine is file:///dir, etcd://host:port/prefix, s3://bucket/prefix or managed, "
        "not " +
        url->scheme + ":");
  }
  return Done{};
}

Status check_peers(const ServerConfig& config) {
  if (!config.managed()) return Done{};
  std::set<std::string> ids, addresses;
  for (const ServerConfig::Peer& peer : config.peers) {
    if (Status status = validate_name("peer", peer.id); !status) return status;
    if (peer.address.port == 0 || peer.address.is_wildcard()) {
      return invalid("--peers: the others cannot reach " + peer.id + " at " +
                     peer.address.to_string());
    }
    if (!ids.insert(peer.id).second) return invalid("--peers names " + peer.id + " twice");
    if (!addresses.insert(peer.address.to_string()).second) {
      return invalid("--peers gives " + peer.address.to_string() + " to two servers");
    }
  }
  if (!config.join.empty()) {
    if (ids.contains(config.id) || config.peer_listen) return Done{};
    return invalid("a server that joins must name the address of its engine: --peers " + config.id +
                   "=HOST:9001");
  }
  if (!ids.contains(config.id)) {
    return invalid("--peers must name this server too: its --id is " + config.id);
  }
  const std::size_t count = config.peers.size();
  if (count == 1 || count == 3 || count == 5) return Done{};
  return invalid("--peers names " + std::to_string(count) +
                 " servers; a cluster begins with 1, 3 or 5, because an even number survives no "
                 "more failures than one server less");
}

// Several would race for the empty engine; one that restores is joined by the others afterwards.
Status check_restore(const ServerConfig& config) {
  if (config.restore.empty()) return Done{};
  if (!config.managed()) {
    return invalid("--restore is for --engine managed; fill this engine with: muster restore " +
                   config.restore + " --engine " +
                   config.engine.substr(0, config.engine.find(':')) + "://…");
  }
  if (config.peers.size() == 1 && config.join.empty()) return Done{};
  return invalid(
      "--restore founds a managed engine of one: name only this server in --peers, and "
      "let the others --join it afterwards");
}

/// The commands that make what is missing.
std::string certificate_commands(const ServerConfig& config) {
  // The certificate names what clients dial, and nobody dials a wildcard.
  std::string host = config.advertise ? config.advertise->host : config.listen.host;
  if (config.listen.is_wildcard() && !config.advertise) host = "HOST";
  return "muster certs init --dir pki && muster certs issue --dir pki --role server --id " +
         config.id + " --san " + host + ", then --cert pki/" + config.id + ".crt --key pki/" +
         config.id + ".key --cacert pki/ca.crt";
}

Status check_crl(const ServerConfig& config) {
  const bool any = !config.crl_file.empty() || !config.crl_url.empty();
  if (config.insecure && any) {
    return invalid("--insecure excludes --crl-file and --crl-url: clients show no certificates");
  }
  if (!config.crl_file.empty() && !config.crl_url.empty()) {
    return invalid("--crl-file and --crl-url both name the revocation list; keep one");
  }
  if (!config.crl_url.empty() && !config.crl_url.starts_with("http://") &&
      !config.crl_url.starts_with("https://")) {
    return invalid("--crl-url must be http://… or https://…; for a file use --crl-file");
  }
  if (config.crl_max_age > config.crl_refresh) return Done{};
  return invalid("crl_max_age " + format_duration(config.crl_max_age) +
                 " must be longer than crl_refresh " + format_duration(config.crl_refresh) +
                 ", or every client is refused between two lists");
}

Status check_tls(const ServerConfig& config) {
  const TlsFiles& tls = config.tls;
  const bool any = !tls.cert.empty() || !tls.key.empty() || !tls.ca.empty();
  if (config.insecure && any) {
    return invalid("--insecure excludes --cert, --key and --cacert; keep one of the two");
  }
  if (!config.insecure && (tls.cert.empty() || tls.key.empty() || tls.ca.empty())) {
    return invalid(
        "mutual TLS needs --cert, --key and --cacert; plaintext is --insecure, on loopback only. "
        "To make them: " +
        certificate_commands(config));
  }
  if (config.connection_max_age < 1s || config.connection_max_age > 24h) {
    return invalid("connection_max_age must be at least 1s and at most 24h");
  }
  return check_crl(config);
}

Status check_limits(const ServerConfig& config) {
  if (config.limited) return config.limits.validate(config.membership.heartbeat_interval);
  if (config.listen.is_loopback()) return Done{};
  return invalid("--limits off is for loopback only, and --listen is " + config.listen.to_string());
}

Status check_plaintext(const ServerConfig& config) {
  if (!config.insecure) return Done{};
  std::vector<std::pair<std::string, Address>> open{{"--listen", config.listen}};
  if (config.managed()) open.emplace_back("--peers", config.own_peer());
  if (config.peer_listen) open.emplace_back("--peer-listen", *config.peer_listen);
  if (config.http_listen) open.emplace_back("--http-listen", *config.http_listen);
  for (const auto& [name, address] : open) {
    if (address.is_loopback()) continue;
    return invalid(name + " " + address.to_string() +
                   " is open to other machines, which --insecure does not allow; give a loopback "
                   "address, or certificates: " +
                   certificate_commands(config));
  }
  return Done{};
}

Status check_listeners(const ServerConfig& config) {
  if (Status plain = check_plaintext(config); !plain) return plain;
  if (config.listen.is_wildcard() && !config.advertise) {
    return invalid("--listen " + config.listen.to_string() +
                   " is not an address that clients can dial; give one with --advertise HOST:PORT");
  }
  if (config.advertise && (config.advertise->is_wildcard() || config.advertise->port == 0)) {
    return invalid("--advertise " + config.advertise->to_string() + " cannot be dialled");
  }
  if (config.managed() && config.own_peer().is_wildcard()) {
    return invalid("--peer-listen " + config.own_peer().to_string() +
                   " is not an address that peers can dial; name this server in --peers");
  }
  return Done{};
}

Status check_timings(const ServerConfig& config) {
  if (Status status = config.membership.validate(); !status) return status;
  const CandidateOptions candidate = config.candidate();
  if (Status status = candidate.validate(); !status) return status;
  const Duration reach = candidate.lease + config.membership.heartbeat_batch_interval +
                         config.membership.heartbeat_interval;
  if (reach < config.membership.suspect_timeout) return Done{};
  return invalid(
      "lease_timeout " + format_duration(candidate.lease) + " + heartbeat_batch_interval " +
      format_duration(config.membership.heartbeat_batch_interval) + " + heartbeat_interval " +
      format_duration(config.membership.heartbeat_interval) + " = " + format_duration(reach) +
      " must be below suspect_timeout " + format_duration(config.membership.suspect_timeout) +
      ", or every change of leader makes healthy nodes SUSPECT");
}

}  // namespace

Address ServerConfig::own_peer() const {
  const auto own =
      std::find_if(peers.begin(), peers.end(), [this](const Peer& peer) { return peer.id == id; });
  if (own != peers.end()) return own->address;
  // check_peers refuses a managed engine whose --peers do not name this server and that has no
  // --peer-listen, and comes before every use; config_fuzz looks for a way around it.
  MUSTER_CHECK(peer_listen);
  return *peer_listen;
}

CandidateOptions ServerConfig::candidate() const {
  CandidateOptions options;
  options.node = WorkerId(id);
  options.lease = lease_timeout;
  options.renew_interval = renew_interval;
  options.request_timeout = request_timeout;
  // The state is in the log: nothing is won by waiting for the one that held it.
  options.takeover_delay = 0s;
  return options;
}

void ServerConfig::complete() {
  if (id.empty()) id = host_name();
  if (!data_dir.empty()) data_dir = std::filesystem::absolute(data_dir).lexically_normal();
  // A managed engine reads them too, and works in another directory.
  for (std::string* file : {&tls.cert, &tls.key, &tls.ca, &crl_file}) {
    if (!file->empty()) *file = std::filesystem::absolute(*file).lexically_normal();
  }
  if (engine.empty() && !data_dir.empty()) engine = "file://" + data_dir + "/store";
  if (lease_timeout == 0s) lease_timeout = on_s3(*this) ? 15s : 2s;
  if (heartbeat_batch_interval == 0s) {
    // Every batch is a request that S3 charges for.
    heartbeat_batch_interval =
        on_s3(*this) ? std::min<Duration>(membership.heartbeat_interval, 10s) : Duration(1s);
  }
  membership.heartbeat_batch_interval = heartbeat_batch_interval;
}

Status ServerConfig::validate() const {
  if (Status status = validate_name("id", id); !status) return status;
  if (!cluster.empty()) {
    if (Status status = validate_name("cluster", cluster); !status) return status;
  }
  for (const auto check : {check_engine, check_peers, check_restore, check_tls, check_listeners,
                           check_timings, check_limits}) {
    if (Status status = check(*this); !status) return status;
  }
  return Done{};
}

}  // namespace muster
