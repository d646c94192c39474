#include "server/tls/ssl_rules.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <utility>

#include "platform/pki/certificate.h"
#include "platform/pki/key.h"

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

std::string to_pem(X509* certificate) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) return {};
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

bool believe(SSL_CTX* context, const std::vector<pki::Certificate>& authorities) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const pki::Certificate& each : authorities) {
    if (X509_STORE_add_cert(store, each.get()) != 1) return false;
  }
  return true;
}

bool show(SSL_CTX* context, const std::vector<pki::Certificate>& chain,
          const pki::PrivateKey& key) {
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) return false;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) return false;
  }
  return SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

}  // namespace

SslRules::SslRules(std::function<Status(std::string_view pem)> verify)
    : verify_(std::move(verify)) {}

SslRules::~SslRules() = default;

void SslRules::Free::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

Status SslRules::use(const security::Credentials& credentials) {
  const auto chain = pki::Certificate::all_from_pem(credentials.certificate);
  const auto key = pki::PrivateKey::from_pem(credentials.key);
  const auto authorities = pki::Certificate::all_from_pem(credentials.authorities);
  if (!chain) return chain.error();
  if (!key) return key.error();
  if (!authorities) return authorities.error();
  std::shared_ptr<SSL_CTX> fresh(SSL_CTX_new(TLS_server_method()), Free());
  if (!fresh || !show(fresh.get(), *chain, *key) || !believe(fresh.get(), *authorities)) {
    return {Errc::kInvalid, "OpenSSL cannot use the certificate, its key or its authorities"};
  }
  const MutexLock lock(mutex_);
  current_ = std::move(fresh);
  return Done{};
}

bool SslRules::apply(SSL_CTX& context, bool certificate_required) {
  auto kept = std::make_unique<std::shared_ptr<SslRules>>(shared_from_this());
  if (SSL_CTX_set_ex_data(&context, rules_index(), kept.get()) != 1) return false;
  static_cast<void>(kept.release());  // OpenSSL's now.
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(&context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(&context, 0);
  const int required = certificate_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | required, on_certificate);
  SSL_CTX_set_client_hello_cb(&context, on_hello, this);
  return SSL_CTX_set_min_proto_version(&context, TLS1_3_VERSION) == 1;
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
  if (rules != nullptr && rules->verify_(to_pem(X509_STORE_CTX_get_current_cert(chain)))) return 1;
  X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

std::string SslRules::shown(const SSL& connection) {
  X509* certificate = SSL_get0_peer_certificate(&connection);
  return certificate == nullptr ? std::string() : to_pem(certificate);
}

}  // namespace muster::server
