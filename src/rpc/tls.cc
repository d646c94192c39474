#include "rpc/tls.h"

#include <array>
#include <utility>

namespace muster::rpc {
namespace {

constexpr std::array<unsigned char, 3> kHttp2{2, 'h', '2'};

pki::TlsRules rules(bool tls12) {
  return {.tls12 = tls12, .protocol = "h2"};
}

}  // namespace

Result<SslContext> tls_context(const pki::TlsTexts& texts, bool tls12) {
  return pki::tls_context(texts, rules(tls12));
}

Result<std::shared_ptr<ClientTls>> open_client_tls(TlsFiles files, bool tls12) {
  return ClientTls::open(std::move(files), rules(tls12));
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

}  // namespace muster::rpc
