#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/http/http_client.h"
#include "server/rpc/rpc_server.h"
#include "server/security/admission.h"
#include "server/security/credential_watcher.h"
#include "server/security/crl_keeper.h"
#include "server/security/ssl_rules.h"

namespace muster::server {

/// A server's certificates, kept current while it runs: its certificate, private key and CA
/// certificates, and the revocation lists. Every listener takes them from here, so that none is
/// forgotten (P11). Permissions are decided elsewhere. Threads: loop thread only, except where
/// noted.
class TlsKeeper {
 public:
  struct Options {
    CredentialFiles files;
    std::string crl_url;  ///< Where the list comes from when that is no file; empty for none.
    security::Revocations::Options crl = {};
    /// Where the newest accepted lists are remembered (CrlMarks); empty: nowhere, with a warning.
    std::string data_dir = {};
    std::string server_id;  ///< Whom this server's own certificate must name.
  };

  TlsKeeper(EventLoop& loop, Options options);
  ~TlsKeeper();
  TlsKeeper(const TlsKeeper&) = delete;
  TlsKeeper& operator=(const TlsKeeper&) = delete;

  /// Reads the files, and keeps them current from then on. kInvalid names the wrong one.
  [[nodiscard]] Status start();
  /// Reads the files and fetches the revocation list now.
  void reload();
  /// A certificate's status may have changed: servers of long calls check again.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  /// A new revocation list, as received.
  void on_list(std::function<void(const std::string& bytes)> took) { took_list_ = std::move(took); }

  /// For a listener of RPC, after start(). It may outlive this; then it refuses everything.
  [[nodiscard]] rpc::RpcTls rpc() const;

  /// For a listener that uses OpenSSL itself; follows what is in force.
  [[nodiscard]] const std::shared_ptr<SslRules>& ssl() const { return ssl_; }

  /// The peer with this certificate, from a handshake that verified it. Any thread.
  [[nodiscard]] Result<std::shared_ptr<const Peer>> read(std::string_view pem) const;
  /// Null where no list is kept.
  [[nodiscard]] const CrlKeeper* revocations() const { return crl_.get(); }
  [[nodiscard]] const CredentialWatcher& credentials() const { return watcher_; }

 private:
  struct Door;

  [[nodiscard]] Status check_own(const security::Credentials& credentials) const;
  void adopt(const security::Credentials& credentials);

  EventLoop& loop_;
  const Options options_;
  CredentialWatcher watcher_;
  std::optional<HttpClient> http_;
  std::unique_ptr<CrlKeeper> crl_;
  std::shared_ptr<Door> door_;
  std::shared_ptr<SslRules> ssl_;
  std::function<void()> changed_;
  std::function<void(const std::string&)> took_list_;
};

}  // namespace muster::server
