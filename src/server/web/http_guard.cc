#include "server/web/http_guard.h"

#include <openssl/ssl.h>

#include "core/security/permissions.h"
#include "server/security/admission.h"

namespace muster::server {

Status may_ask(const TlsKeeper& tls, const http::Request& request, WallTime now) {
  const auto call = security::call_of_path(request.path);
  if (!call) return {Errc::kDenied, "no role may request this path"};
  if (security::allowed_without_certificate(*call)) return Done{};
  if (request.certificate.empty()) {
    const char* wanted = *call == security::Call::kHttpV1 ? "" : " with the role reader or admin";
    return {Errc::kDenied, std::string("a certificate") + wanted + " is required; none was shown"};
  }
  const auto peer = tls.read(request.certificate);
  if (!peer) return peer.error();
  return admit(**peer, *call, tls.revocations(), now);
}

http::TlsContext http_context(const TlsKeeper& tls) {
  http::TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context || !tls.ssl()->apply(*context, false)) return nullptr;
  return context;
}

}  // namespace muster::server
