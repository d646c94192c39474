#include "client/tls_diagnosis.h"

#include <array>
#include <ctime>
#include <vector>

#include "platform/system_clock.h"

namespace muster::client {
namespace {

using Answer = pki::TlsFindings::Answer;

/// "2026-12-31 23:59:59 UTC"
std::string date(WallTime time) {
  const std::time_t seconds = to_ms(time) / 1000;
  std::tm parts{};
  std::array<char, 32> text{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "a date that cannot be written";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all.empty() ? "none" : all;
}

std::string host_of(const std::string& server) {
  return server.substr(0, server.rfind(':'));
}

/// Why a certificate does not count at `now`; none when it does.
std::optional<std::string> outdated(const pki::CertificateFacts& facts, WallTime now) {
  if (now >= facts.not_after) return "expired on " + date(facts.not_after);
  if (now < facts.not_before) {
    return "is valid only from " + date(facts.not_before) + "; by this machine's clock it is " +
           date(now);
  }
  return std::nullopt;
}

std::optional<std::string> about_server(const std::string& server, const TlsFiles& files,
                                        const pki::TlsFindings& findings, WallTime now) {
  const pki::CertificateFacts& facts = *findings.certificate;
  const std::string whose = "the certificate of " + server + " (" + facts.subject + ") ";
  if (!findings.trusted) {
    return whose + "was issued by " + facts.issuer + ", which " +
           (files.ca.empty() ? "the system does not trust; give its CA certificate with --cacert"
                             : files.ca +
                                   " does not hold; give the CA certificate of this "
                                   "cluster with --cacert");
  }
  if (const auto why = outdated(facts, now)) return whose + *why + "; replace it on that server";
  if (findings.name_holds) return std::nullopt;
  std::vector<std::string> names = facts.dns_names;
  names.insert(names.end(), facts.ip_addresses.begin(), facts.ip_addresses.end());
  return whose + "does not hold the name " + host_of(server) + "; it holds " + joined(names) +
         ": use one of these in --server, or issue it again with --san " + host_of(server);
}

/// Whether a CA of that name is among those that verify the servers, as in most clusters; also true
/// when there is no list to look at. The alert that would tell is lost with many a connection.
bool holds_issuer(const std::string& authorities, const pki::CertificateFacts& facts) {
  const auto all = pki::Certificate::all_from_pem(authorities);
  if (!all) return true;
  for (const pki::Certificate& each : *all) {
    if (each.facts().subject == facts.issuer) return true;
  }
  return false;
}

std::optional<std::string> about_client(const std::string& server, const TlsFiles& files,
                                        const pki::TlsFindings& findings, WallTime now) {
  if (files.cert.empty()) {
    return server + " requires a client certificate; give it with --cert FILE and --key FILE";
  }
  const auto texts = pki::read_tls_files(files);
  const auto own =
      texts ? pki::Certificate::from_pem(texts->cert) : Result<pki::Certificate>(texts.error());
  if (!own) return own.error().message;
  const std::string whose = files.cert + " (" + own->facts().subject + ") ";
  if (const auto why = outdated(own->facts(), now)) {
    return whose + *why + "; issue a new client certificate and give it with --cert and --key";
  }
  if (findings.alert == "unknown CA" || !holds_issuer(texts->ca, own->facts())) {
    return whose + "was issued by " + own->facts().issuer + ", which " + server +
           " does not trust; give a client certificate of its CA with --cert and --key";
  }
  const std::string said = findings.alert.empty() ? "" : " (" + findings.alert + ")";
  const std::string refused =
      server + " refused " + whose + "with the serial number " + own->facts().serial + said + ": ";
  // musterd never sends this alert; the etcd of a managed engine sends it to all but servers.
  if (findings.alert == "bad certificate") {
    return refused +
           "this is probably not the gRPC port of a musterd, but the port of its managed engine "
           "(--peers), which accepts only servers; check the port (default: 9000)";
  }
  return refused +
         "it has been revoked, or has no role of this cluster, or the server has no valid "
         "revocation list; the server's log and /readyz give the reason";
}

/// Of a server that hung up before it said anything.
std::string about_silence(const std::string& server) {
  return server +
         " accepted the connection and closed it at once: the server may refuse further "
         "connections because it is full (its log says so), may not use TLS, or is not a musterd; "
         "try again, and check the address and port";
}

}  // namespace

std::optional<std::string> explain_tls(const std::string& server, const TlsFiles& files,
                                       const pki::TlsFindings& findings, WallTime now) {
  if (findings.answer == Answer::kNone) return std::nullopt;
  if (findings.answer == Answer::kPlaintext) {
    if (!files.any()) return std::nullopt;
    return server +
           " does not use TLS; remove --cacert, --cert and --key, or check the address and port";
  }
  if (findings.answer == Answer::kClosed) {
    if (!files.any()) return std::nullopt;
    return about_silence(server);
  }
  if (!files.any()) {
    const std::string issuer =
        findings.certificate ? " (its CA is " + findings.certificate->issuer + ")" : "";
    return server + " uses TLS" + issuer +
           "; give --cacert, --cert and --key, or their variables MUSTER_CACERT, MUSTER_CERT and "
           "MUSTER_KEY";
  }
  if (findings.certificate) {
    if (auto why = about_server(server, files, findings, now)) return why;
  }
  if (findings.answer == Answer::kTls) return std::nullopt;
  if (findings.answer == Answer::kSentAway) {
    if (findings.farewell.empty()) return std::nullopt;
    return server + " refuses the connection: " + findings.farewell;
  }
  return about_client(server, files, findings, now);
}

std::optional<std::string> diagnose_tls(const std::string& server, const TlsFiles& files,
                                        Duration limit) {
  pki::TlsTexts brought;
  if (files.any()) {
    const auto texts = pki::read_tls_files(files);
    if (!texts) return texts.error().message;
    brought = *texts;
  }
  return explain_tls(server, files, pki::probe_tls(server, brought, limit), system_wall_now());
}

}  // namespace muster::client
