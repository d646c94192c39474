#pragma once

#include <openssl/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "core/security/credential_generations.h"
#include "rpc/tls.h"

namespace muster::server {

/// The rules of every listener: TLS 1.3 only, the certificate and CAs in use at each handshake, and
/// a client certificate, if shown, must be valid. The listener decides whether one is required:
/// calls need one, HTTP probes do not. Sessions are not resumed, so that every connection is
/// checked. Threads: any, after use().
class SslRules : public std::enable_shared_from_this<SslRules> {
 public:
  /// Whether to accept this certificate (PEM), issued by a CA in use, of the peer at `remote`.
  using Verify = std::function<Status(std::string_view pem, const std::string& remote)>;
  /// `verify` is called on any thread.
  explicit SslRules(Verify verify);
  ~SslRules();

  /// Uses these certificates from now on. kInvalid if OpenSSL cannot use them.
  [[nodiscard]] Status use(const security::Credentials& credentials) MUSTER_EXCLUDES(mutex_);
  /// Makes `context` follow these rules. It keeps them alive.
  [[nodiscard]] bool apply(SSL_CTX& context, bool certificate_required);
  /// For a client of RPC that connects, which must show a certificate. These rules outlive it.
  [[nodiscard]] Result<rpc::SslPtr> accept() MUSTER_EXCLUDES(mutex_);
  /// For a connection of this server to another one at `host`. The caller checks its identity.
  [[nodiscard]] Result<rpc::SslPtr> connect(const std::string& host) MUSTER_EXCLUDES(mutex_);

 private:
  void restrict(SSL_CTX& context, bool certificate_required);
  static int on_hello(SSL* connection, int* alert, void* rules);
  static int on_certificate(int good, X509_STORE_CTX* chain);

  const Verify verify_;
  Mutex mutex_;
  /// What is in force: for listeners that bring a context of their own, for clients of RPC, and for
  /// connections to other servers.
  rpc::SslContext current_ MUSTER_GUARDED_BY(mutex_);
  rpc::SslContext accepting_ MUSTER_GUARDED_BY(mutex_);
  rpc::SslContext connecting_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::server
