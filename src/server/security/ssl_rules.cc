#include "server/security/ssl_rules.h"

#include <openssl/ssl.h>

#include <utility>

#include "platform/listener.h"
#include "platform/pki/certificate.h"

namespace muster::server {
namespace {

/// Where a context keeps the rules it follows. OpenSSL frees them with the context.
int rules_index() {
  static const int index = SSL_CTX_get_ex_new_index(
      0, nullptr, nullptr, nullptr, [](void*, void* kept, CRYPTO_EX_DATA*, int, long, void*) {
        delete static_cast<std::shared_ptr<SslRules>*>(kept);
      });
  return index;
}

}  // namespace

SslRules::SslRules(Verify verify) : verify_(std::move(verify)) {}

SslRules::~SslRules() = default;

Status SslRules::use(const security::Credentials& credentials) {
  const pki::TlsTexts texts{credentials.authorities, credentials.certificate, credentials.key};
  // One has the settings of the listener that takes it over, the others have their own.
  auto current = rpc::tls_context(texts);
  auto accepting = rpc::tls_context(texts);
  auto connecting = rpc::tls_context(texts);
  for (const auto* made : {&current, &accepting, &connecting}) {
    if (!*made) return made->error();
  }
  restrict(**accepting, true);
  rpc::offer_http2(**accepting);
  const MutexLock lock(mutex_);
  current_ = *std::move(current);
  accepting_ = *std::move(accepting);
  connecting_ = *std::move(connecting);
  return Done{};
}

Result<rpc::SslPtr> SslRules::accept() {
  const MutexLock lock(mutex_);
  auto made = rpc::tls_from_client(*accepting_);
  if (made) SSL_set_app_data(made->get(), this);
  return made;
}

Result<rpc::SslPtr> SslRules::connect(const std::string& host) {
  const MutexLock lock(mutex_);
  return rpc::tls_to(*connecting_, host);
}

bool SslRules::apply(SSL_CTX& context, bool certificate_required) {
  auto kept = std::make_unique<std::shared_ptr<SslRules>>(shared_from_this());
  if (SSL_CTX_set_ex_data(&context, rules_index(), kept.get()) != 1) return false;
  static_cast<void>(kept.release());  // OpenSSL's now.
  restrict(context, certificate_required);
  SSL_CTX_set_client_hello_cb(&context, on_hello, this);
  return SSL_CTX_set_min_proto_version(&context, TLS1_3_VERSION) == 1;
}

void SslRules::restrict(SSL_CTX& context, bool certificate_required) {
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(&context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(&context, 0);
  const int required = certificate_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | required, on_certificate);
}

int SslRules::on_hello(SSL* connection, int*, void* rules) {
  auto* self = static_cast<SslRules*>(rules);
  const MutexLock lock(self->mutex_);
  if (!self->current_) return SSL_CLIENT_HELLO_ERROR;
  // Certificate, key and authorities are taken from there; the rest stays as it was. The rules go
  // with the connection, whose own context keeps them.
  SSL_set_app_data(connection, self);
  SSL_set_SSL_CTX(connection, self->current_.get());
  return SSL_CLIENT_HELLO_SUCCESS;
}

int SslRules::on_certificate(int good, X509_STORE_CTX* chain) {
  if (good != 1 || X509_STORE_CTX_get_error_depth(chain) != 0) return good;
  const auto* connection = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  // The hello has put another context in the place of the one that holds the rules.
  const auto* rules = static_cast<const SslRules*>(SSL_get_app_data(connection));
  if (rules != nullptr && rules->verify_(pki::to_pem(X509_STORE_CTX_get_current_cert(chain)),
                                         remote_host(SSL_get_fd(connection)))) {
    return 1;
  }
  X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

}  // namespace muster::server
