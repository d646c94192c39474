#include "server/engine/presence_responder.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/security/identity.h"

namespace muster::engine {
namespace {

/// Called once for each certificate of a chain, the client's own last.
int only_servers(int good, X509_STORE_CTX* chain) {
  if (good != 1 || X509_STORE_CTX_get_error_depth(chain) != 0) return good;
  X509* shown = X509_STORE_CTX_get_current_cert(chain);
  if (X509_check_host(shown, security::kServerName, 0, X509_CHECK_FLAG_NO_WILDCARDS, nullptr) == 1)
    return 1;
  X509_STORE_CTX_set_error(chain, X509_V_ERR_HOSTNAME_MISMATCH);
  return 0;
}

/// Null when OpenSSL cannot use the files.
http::TlsContext for_servers_only(const TlsFiles& tls) {
  http::TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return nullptr;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     only_servers);
  // A session that is resumed would ask for no certificate.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context.get(), 0);
  const bool usable =
      SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) == 1 &&
      SSL_CTX_use_certificate_chain_file(context.get(), tls.cert.c_str()) == 1 &&
      SSL_CTX_use_PrivateKey_file(context.get(), tls.key.c_str(), SSL_FILETYPE_PEM) == 1 &&
      SSL_CTX_load_verify_locations(context.get(), tls.ca.c_str(), nullptr) == 1;
  return usable ? context : nullptr;
}

}  // namespace

Result<std::uint16_t> PresenceResponder::start(const Address& listen, const TlsFiles& tls) {
  http::ServerOptions options{.host = listen.host, .port = listen.port};
  if (!tls.cert.empty()) {
    const http::TlsContext context = for_servers_only(tls);
    if (!context) {
      return {Errc::kInvalid,
              "the certificates do not fit together; check --cert, --key and "
              "--cacert"};
    }
    options.tls = [context] { return context; };
  }
  server_ = std::make_unique<http::Server>(
      loop_, std::move(options), [this](const http::ExchangePtr& exchange) { answer(*exchange); });
  return server_->start();
}

void PresenceResponder::answer(http::Exchange& exchange) const {
  if (exchange.request().path != kMembersPath) {
    return exchange.reply(http::refusal(404, "this server waits for its peers"));
  }
  const nlohmann::json says{{"waiting", name_}, {"sawAll", saw_all_}};
  exchange.reply({.content = http::body(says.dump())});
}

}  // namespace muster::engine
