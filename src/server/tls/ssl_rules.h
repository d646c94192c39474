#pragma once

#include <openssl/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "core/security/credential_generations.h"

namespace muster::server {

/// The rules of gRPC's listener for one that uses OpenSSL itself, such as HTTP's: TLS 1.3 only, the
/// certificate and authorities in force at each handshake, and whoever shows a certificate must
/// show one that counts. Whether one must be shown is for the listener: probes have none.
/// Sessions are not resumed, so that every connection is asked. Any thread, after use().
class SslRules : public std::enable_shared_from_this<SslRules> {
 public:
  /// `verify` is asked about each certificate (PEM) that an authority vouches for; any thread.
  explicit SslRules(std::function<Status(std::string_view pem)> verify);
  ~SslRules();

  /// From now on these are shown and believed. kInvalid when OpenSSL cannot use them.
  [[nodiscard]] Status use(const security::Credentials& credentials) MUSTER_EXCLUDES(mutex_);
  /// Makes `context` follow these rules. It keeps them alive.
  [[nodiscard]] bool apply(SSL_CTX& context, bool certificate_required);
  /// The certificate (PEM) that the client of a connection has shown; empty when none.
  [[nodiscard]] static std::string shown(const SSL& connection);

 private:
  struct Free {
    void operator()(SSL_CTX* context) const;
  };
  static int on_hello(SSL* connection, int* alert, void* rules);
  static int on_certificate(int good, X509_STORE_CTX* chain);

  const std::function<Status(std::string_view pem)> verify_;
  Mutex mutex_;
  std::shared_ptr<SSL_CTX> current_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::server
