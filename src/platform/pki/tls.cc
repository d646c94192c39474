#include "platform/pki/tls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <system_error>
#include <utility>

#include "base/log.h"
#include "platform/pki/certificate.h"
#include "platform/pki/key.h"
#include "platform/pki/openssl.h"
#include "platform/pki/system_authorities.h"

namespace muster::pki {
namespace {

bool is_address(const std::string& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

Error unusable(const std::string& what) {
  return openssl_failure(Errc::kInvalid, what);
}

Status believe(SSL_CTX& context, const std::string& authorities) {
  if (authorities.empty()) {
    const auto system = system_authorities();
    if (!system) return system.error();
    SSL_CTX_set1_cert_store(&context, system->get());
    return Done{};
  }
  const auto all = Certificate::all_from_pem(authorities);
  if (!all) return all.error();
  for (const Certificate& each : *all) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(&context), each.get()) != 1) {
      return unusable("a CA certificate cannot be used");
    }
  }
  return Done{};
}

Status show(SSL_CTX& context, const TlsTexts& texts) {
  if (texts.cert.empty()) return Done{};
  const auto chain = Certificate::all_from_pem(texts.cert);
  const auto key = PrivateKey::from_pem(texts.key);
  if (!chain) return chain.error();
  if (!key) return key.error();
  bool shown = SSL_CTX_use_certificate(&context, chain->front().get()) == 1;
  for (std::size_t i = 1; shown && i < chain->size(); ++i) {
    shown = SSL_CTX_add1_chain_cert(&context, (*chain)[i].get()) == 1;
  }
  if (!shown) return unusable("the certificate cannot be used");
  if (SSL_CTX_use_PrivateKey(&context, key->get()) == 1) return Done{};
  return unusable("the private key cannot be used");
}

bool offer(SSL_CTX& context, const std::string& protocol) {
  if (protocol.empty()) return true;
  const std::string wire = static_cast<char>(protocol.size()) + protocol;
  return SSL_CTX_set_alpn_protos(&context, reinterpret_cast<const unsigned char*>(wire.data()),
                                 static_cast<unsigned>(wire.size())) == 0;
}

bool same(const TlsTexts& a, const TlsTexts& b) {
  return a.ca == b.ca && a.cert == b.cert && a.key == b.key;
}

}  // namespace

Status fill_tls_context(SSL_CTX& context, const TlsTexts& texts) {
  if (Status status = believe(context, texts.ca); !status) return status;
  return show(context, texts);
}

Result<SslContext> tls_context(const TlsTexts& texts, const TlsRules& rules) {
  SslContext context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  if (!context) return unusable("TLS cannot be used");
  const int least = rules.tls12 ? TLS1_2_VERSION : TLS1_3_VERSION;
  if (SSL_CTX_set_min_proto_version(context.get(), least) != 1 ||
      !offer(*context, rules.protocol)) {
    return unusable("TLS cannot be used");
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (Status status = fill_tls_context(*context, texts); !status) return status.error();
  return context;
}

Result<SslPtr> tls_to(SSL_CTX& context, const std::string& host) {
  SslPtr ssl(SSL_new(&context), SSL_free);
  if (!ssl) return unusable("TLS cannot be used");
  bool named = false;
  if (is_address(host)) {
    named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) == 1;
  } else {
    SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    named = SSL_set1_host(ssl.get(), host.c_str()) == 1 &&
            SSL_set_tlsext_host_name(ssl.get(), host.c_str()) == 1;
  }
  if (!named) return unusable("no certificate can hold the name " + host);
  return ssl;
}

Result<SslPtr> tls_from_client(SSL_CTX& context) {
  SslPtr ssl(SSL_new(&context), SSL_free);
  if (!ssl) return unusable("TLS cannot be used");
  return ssl;
}

std::string shown_certificate(const SSL& ssl) {
  const X509* shown = SSL_get0_peer_certificate(&ssl);
  return shown == nullptr ? std::string() : to_pem(shown);
}

TlsFailure tls_failure(const SSL* ssl, int system_error) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) {
    return {system_error == 0 ? kClosedByOther : std::system_category().message(system_error)};
  }
  const int reason = ERR_GET_REASON(code);
  if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return {kClosedByOther};
  const char* text = ERR_reason_error_string(code);
  TlsFailure failure{text == nullptr ? "error " + std::to_string(reason) : text};
  failure.refusal = ERR_GET_LIB(code) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET;
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    failure.refusal = true;
    failure.text +=
        std::string(" (") + X509_verify_cert_error_string(SSL_get_verify_result(ssl)) + ")";
  }
  return failure;
}

Result<std::shared_ptr<ClientTls>> ClientTls::open(TlsFiles files, TlsRules rules) {
  std::shared_ptr<ClientTls> tls(new ClientTls(std::move(files), std::move(rules)));
  if (Status status = tls->look(); !status) return status.error();
  return tls;
}

Status ClientTls::look() {
  auto texts = read_tls_files(files_);
  if (!texts) return texts.error();
  Authorities system;
  if (files_.ca.empty()) {
    auto now = system_authorities();
    if (!now) return now.error();
    system = std::move(*now);
  }
  if (context_ && same(*texts, texts_) && system == system_) return Done{};
  auto fresh = tls_context(*texts, rules_);
  if (!fresh) return fresh.error();
  context_ = std::move(*fresh);
  texts_ = std::move(*texts);
  system_ = std::move(system);
  return Done{};
}

Result<SslPtr> ClientTls::to(const std::string& host) {
  const Status usable = look();
  const std::string complaint = usable ? std::string() : usable.error().message;
  if (complaint != complaint_ && !complaint.empty()) {
    log_warn("the previous certificate and CA certificates stay in use", {{"reason", complaint}});
  }
  complaint_ = complaint;
  return tls_to(*context_, host);
}

}  // namespace muster::pki
