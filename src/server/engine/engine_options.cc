#include "server/engine/engine_options.h"

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <memory>

#include "base/check.h"
#include "candidate/guarded_command.h"
#include "core/membership/validation.h"
#include "core/security/identity.h"

namespace muster::engine {
namespace {

/// Bytes that a path may not hold unescaped in the query of a URL.
std::string escaped(const std::string& path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string result;
  for (const char c : path) {
    if (c == '%' || c == '&' || c == '?' || c == '#' || static_cast<unsigned char>(c) <= 0x20) {
      const auto byte = static_cast<unsigned char>(c);
      result += {'%', kHex[byte >> 4], kHex[byte & 0xF]};
    } else {
      result += c;
    }
  }
  return result;
}

std::string initial_cluster(const EngineOptions& options, const StartPlan& plan) {
  std::string all;
  const auto add = [&all](const std::string& name, const std::string& url) {
    all += (all.empty() ? "" : ",") + name + "=" + url;
  };
  if (plan.step != StartPlan::Step::kJoin) {
    for (const auto& [name, address] : options.peers) add(name, options.peer_url(address));
    // On a restart etcd takes the members from its data, but it wants to see its own name.
    if (options.peers.empty()) add(options.name, options.peer_url(options.peer));
    return all;
  }
  for (const Member& member : plan.members) {
    const bool own = member.peer_url == options.peer_url(options.peer);
    // etcd compares addresses; the name of another one that has not started yet may be anything.
    const std::string name =
        member.name.empty() ? "unstarted-" + std::to_string(member.id) : member.name;
    add(own ? options.name : name, member.peer_url);
  }
  return all;
}

/// etcd 3.4 has no flag for the least version of TLS. Offering, for TLS 1.2, only a suite that
/// this kind of key cannot serve leaves TLS 1.3, whose suites are not subject to the list.
Result<std::string> suite_that_cannot_be(const std::string& cert_file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(cert_file.c_str(), "r"),
                                                             std::fclose);
  if (!file) return {Errc::kInvalid, "cannot read the certificate " + cert_file};
  const std::unique_ptr<X509, void (*)(X509*)> cert(
      PEM_read_X509(file.get(), nullptr, nullptr, nullptr), X509_free);
  if (!cert) return {Errc::kInvalid, cert_file + " contains no certificate in PEM form"};
  const EVP_PKEY* key = X509_get0_pubkey(cert.get());
  const bool rsa = key != nullptr && EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
  return std::string(rsa ? "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
                         : "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
}

/// etcd binds to addresses, never to a name. What a machine takes its own name for may be a
/// loopback address (Debian's installer writes 127.0.1.1 into /etc/hosts), at which no other server
/// would reach it, so a name stands for every interface. Without certificates it is localhost,
/// which etcd knows.
Address where_to_listen(const Address& asked) {
  const bool name = !membership::is_ipv4(asked.host) && !membership::is_ipv6(asked.host);
  return name && !asked.is_loopback() ? Address{"0.0.0.0", asked.port} : asked;
}

}  // namespace

std::string EngineOptions::store_url() const {
  return "etcd:///muster?socket=" + escaped(socket());
}

EngineOptions engine_options(const ServerConfig& config, const std::string& contact) {
  // Server asks for them only where config_.managed(); no option makes it do otherwise.
  MUSTER_CHECK(config.managed());
  EngineOptions options;
  options.name = config.id;
  options.peer = config.own_peer();
  options.peer_listen = where_to_listen(config.peer_listen.value_or(options.peer));
  if (config.join.empty()) {
    for (const ServerConfig::Peer& peer : config.peers) options.peers[peer.id] = peer.address;
  }
  for (const Address& server : config.join) options.join.push_back(server.to_string());
  options.contact = contact;
  options.data_dir = config.data_dir;
  options.tls = config.tls;
  options.crl_file = config.crl_url.empty() ? config.crl_file : options.fetched_crl();
  options.quota_bytes = config.engine_quota_mb << 20;
  options.program = config.etcd;
  options.guardian = find_guardian();
  return options;
}

Result<std::vector<std::string>> etcd_command(const EngineOptions& options, const StartPlan& plan) {
  // Also when a server that joined starts again: etcd ignores this while it has data, and without
  // any it must not found a cluster of its own.
  const bool joins = plan.step == StartPlan::Step::kJoin || options.peers.empty();
  std::vector<std::string> words{
      options.program,
      "--name=" + options.name,
      "--data-dir=" + options.etcd_directory(),
      // A socket in a directory that only this user enters: nobody else talks to the member.
      "--listen-client-urls=unix://localhost:2379",
      // Not dialled by etcd or its clients here: it tells servers that ask where musterd is.
      "--advertise-client-urls=http://" + options.contact,
      "--listen-peer-urls=" + options.peer_url(options.peer_listen),
      "--initial-advertise-peer-urls=" + options.peer_url(options.peer),
      "--initial-cluster=" + initial_cluster(options, plan),
      std::string("--initial-cluster-state=") + (joins ? "existing" : "new"),
      "--initial-cluster-token=muster",
      "--heartbeat-interval=50",
      "--election-timeout=500",
      "--pre-vote=true",
      "--auto-compaction-mode=revision",
      "--auto-compaction-retention=10000",
      "--quota-backend-bytes=" + std::to_string(options.quota_bytes),
      "--max-request-bytes=1572864",
      "--max-txn-ops=128",
      "--snapshot-count=10000",
      "--logger=zap",
      "--log-level=warn",
      "--log-outputs=stderr",
  };
  if (options.tls.cert.empty()) return words;
  const auto suite = suite_that_cannot_be(options.tls.cert);
  if (!suite) return suite.error();
  words.insert(words.end(),
               {"--peer-client-cert-auth", "--peer-cert-file=" + options.tls.cert,
                "--peer-key-file=" + options.tls.key, "--peer-trusted-ca-file=" + options.tls.ca,
                "--cipher-suites=" + *suite,
                // Its one way to tell a server from a node with a certificate of the same CA.
                std::string("--peer-cert-allowed-hostname=") + security::kServerName});
  if (!options.crl_file.empty()) words.push_back("--peer-crl-file=" + options.crl_file);
  return words;
}

}  // namespace muster::engine
