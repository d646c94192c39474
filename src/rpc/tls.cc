#include "rpc/tls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/log.h"
#include "platform/pki/certificate.h"
#include "platform/pki/key.h"

namespace muster::rpc {
namespace {

constexpr std::array<unsigned char, 3> kHttp2{2, 'h', '2'};

bool is_address(const std::string& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

Error failure(const std::string& what) {
  std::array<char, 256> reason{};
  ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
  ERR_clear_error();
  return {Errc::kInvalid, what + ": " + reason.data()};
}

Status believe(SSL_CTX* context, const std::string& authorities) {
  if (authorities.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return Done{};
    return failure("the system's authorities cannot be used");
  }
  const auto all = pki::Certificate::all_from_pem(authorities);
  if (!all) return all.error();
  for (const pki::Certificate& each : *all) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), each.get()) != 1) {
      return failure("an authority cannot be used");
    }
  }
  return Done{};
}

Status show(SSL_CTX* context, const pki::TlsTexts& texts) {
  if (texts.cert.empty()) return Done{};
  const auto chain = pki::Certificate::all_from_pem(texts.cert);
  const auto key = pki::PrivateKey::from_pem(texts.key);
  if (!chain) return chain.error();
  if (!key) return key.error();
  bool shown = SSL_CTX_use_certificate(context, chain->front().get()) == 1;
  for (std::size_t i = 1; shown && i < chain->size(); ++i) {
    shown = SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) == 1;
  }
  if (!shown) return failure("the certificate cannot be used");
  if (SSL_CTX_use_PrivateKey(context, key->get()) == 1) return Done{};
  return failure("the key cannot be used");
}

bool same(const pki::TlsTexts& a, const pki::TlsTexts& b) {
  return a.ca == b.ca && a.cert == b.cert && a.key == b.key;
}

}  // namespace

Result<SslContext> tls_context(const pki::TlsTexts& texts, bool tls12) {
  SslContext context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  if (!context) return failure("TLS cannot be used");
  const int least = tls12 ? TLS1_2_VERSION : TLS1_3_VERSION;
  if (SSL_CTX_set_min_proto_version(context.get(), least) != 1 ||
      SSL_CTX_set_alpn_protos(context.get(), kHttp2.data(), kHttp2.size()) != 0) {
    return failure("TLS cannot be used");
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (Status status = believe(context.get(), texts.ca); !status) return status.error();
  if (Status status = show(context.get(), texts); !status) return status.error();
  return context;
}

void offer_http2(SSL_CTX& context) {
  SSL_CTX_set_alpn_select_cb(
      &context,
      [](SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
         unsigned offered_size, void*) {
        unsigned char* found = nullptr;
        const int outcome = SSL_select_next_proto(&found, size, kHttp2.data(), kHttp2.size(),
                                                  offered, offered_size);
        *chosen = found;
        return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
      },
      nullptr);
}

Result<SslPtr> tls_to(SSL_CTX& context, const std::string& host) {
  SslPtr ssl(SSL_new(&context), SSL_free);
  if (!ssl) return failure("TLS cannot be used");
  bool named = false;
  if (is_address(host)) {
    named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) == 1;
  } else {
    SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    named = SSL_set1_host(ssl.get(), host.c_str()) == 1 &&
            SSL_set_tlsext_host_name(ssl.get(), host.c_str()) == 1;
  }
  if (!named) return failure("no certificate can hold the name " + host);
  return ssl;
}

Result<SslPtr> tls_from_client(SSL_CTX& context) {
  SslPtr ssl(SSL_new(&context), SSL_free);
  if (!ssl) return failure("TLS cannot be used");
  return ssl;
}

Result<std::shared_ptr<ClientTls>> ClientTls::open(TlsFiles files, bool tls12) {
  std::shared_ptr<ClientTls> tls(new ClientTls(std::move(files), tls12));
  if (Status status = tls->look(); !status) return status.error();
  return tls;
}

Status ClientTls::look() {
  auto texts = pki::read_tls_files(files_);
  if (!texts) return texts.error();
  if (context_ && same(*texts, texts_)) return Done{};
  auto fresh = tls_context(*texts, tls12_);
  if (!fresh) return fresh.error();
  context_ = std::move(*fresh);
  texts_ = std::move(*texts);
  return Done{};
}

Result<SslPtr> ClientTls::to(const std::string& host) {
  const Status usable = look();
  const std::string complaint = usable ? std::string() : usable.error().message;
  if (complaint != complaint_ && !complaint.empty()) {
    log_warn("the former certificate and authorities stay in use", {{"reason", complaint}});
  }
  complaint_ = complaint;
  return tls_to(*context_, host);
}

}  // namespace muster::rpc
