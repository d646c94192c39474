#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "platform/pki/system_authorities.h"
#include "platform/pki/tls_files.h"

namespace muster::pki {

using SslPtr = std::unique_ptr<SSL, decltype(&SSL_free)>;
using SslContext = std::shared_ptr<SSL_CTX>;

/// What is spoken over TLS, apart from certificates.
struct TlsRules {
  bool tls12 = false;      ///< TLS 1.2 is accepted besides 1.3.
  std::string protocol{};  ///< Offered by ALPN, such as "h2"; empty offers none.
};

/// Makes `context` show the certificate and believe the authorities of `texts`, or those of the
/// system where there are none. kInvalid when OpenSSL cannot use them.
[[nodiscard]] Status fill_tls_context(SSL_CTX& context, const TlsTexts& texts);
/// A context, filled, that verifies the other side. kInvalid when OpenSSL cannot use `texts`.
[[nodiscard]] Result<SslContext> tls_context(const TlsTexts& texts, const TlsRules& rules);

/// For one connection to `host`, a name or an address, which the server's certificate must hold.
[[nodiscard]] Result<SslPtr> tls_to(SSL_CTX& context, const std::string& host);
/// For one connection that a client has opened.
[[nodiscard]] Result<SslPtr> tls_from_client(SSL_CTX& context);

/// The certificate (PEM) that the other side of `ssl` has shown; empty when it has shown none.
[[nodiscard]] std::string shown_certificate(const SSL& ssl);

/// Why a call on `ssl` failed just now.
struct TlsFailure {
  std::string text;
  /// TLS itself says that one side does not accept the other: its certificate is not believed here,
  /// or the other side has sent an alert.
  bool refusal = false;
};
/// `system_error` is errno after the call, or 0 where OpenSSL names no error of the system. Takes
/// OpenSSL's errors of this thread away.
[[nodiscard]] TlsFailure tls_failure(const SSL* ssl, int system_error);
/// What TlsFailure::text and connections without TLS say of a connection that was closed.
inline constexpr const char* kClosedByOther = "the peer closed the connection";

/// The TLS of a client's connections, from files. They are looked at for each new connection, so
/// that a program outlives its certificate: what cannot be used, such as a half that was replaced
/// before the other, leaves the former in force. Loop thread only.
class ClientTls {
 public:
  /// kInvalid, naming the file, when they cannot be used now.
  [[nodiscard]] static Result<std::shared_ptr<ClientTls>> open(TlsFiles files, TlsRules rules);

  [[nodiscard]] Result<SslPtr> to(const std::string& host);

 private:
  ClientTls(TlsFiles files, TlsRules rules) : files_(std::move(files)), rules_(std::move(rules)) {}
  [[nodiscard]] Status look();

  const TlsFiles files_;
  const TlsRules rules_;
  TlsTexts texts_;
  Authorities system_;  ///< Of `context_`, where no file names others.
  SslContext context_;
  std::string complaint_;  ///< What is wrong with the files, as was last told.
};

}  // namespace muster::pki
