#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "platform/pki/tls_files.h"
#include "rpc/connection.h"

namespace muster::rpc {

using SslContext = std::shared_ptr<SSL_CTX>;

/// What one side shows and believes: TLS that speaks HTTP/2 and nothing else, 1.3 unless `tls12`
/// allows the older one too. The system's authorities count where there are none in `texts`.
/// kInvalid when OpenSSL cannot use them.
[[nodiscard]] Result<SslContext> tls_context(const pki::TlsTexts& texts, bool tls12 = false);
/// Makes `context` agree on HTTP/2 with its clients, and on nothing else.
void offer_http2(SSL_CTX& context);

/// For one connection to `host`, a name or an address, which the server's certificate must hold.
[[nodiscard]] Result<SslPtr> tls_to(SSL_CTX& context, const std::string& host);
/// For one connection that a client has opened.
[[nodiscard]] Result<SslPtr> tls_from_client(SSL_CTX& context);

/// The TLS of a client's connections, from files. They are looked at for each new connection, so
/// that a program outlives its certificate: what cannot be used, such as a half that was replaced
/// before the other, leaves the former in force. Loop thread only.
class ClientTls {
 public:
  /// kInvalid, naming the file, when they cannot be used now.
  [[nodiscard]] static Result<std::shared_ptr<ClientTls>> open(TlsFiles files, bool tls12 = false);

  [[nodiscard]] Result<SslPtr> to(const std::string& host);

 private:
  ClientTls(TlsFiles files, bool tls12) : files_(std::move(files)), tls12_(tls12) {}
  [[nodiscard]] Status look();

  const TlsFiles files_;
  const bool tls12_;
  pki::TlsTexts texts_;
  SslContext context_;
  std::string complaint_;  ///< What is wrong with the files, as was last told.
};

}  // namespace muster::rpc
