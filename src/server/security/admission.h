#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "base/result.h"
#include "core/security/identity.h"
#include "core/security/permissions.h"
#include "server/security/crl_keeper.h"

namespace muster::server {

/// The peer of a connection, after a handshake that has verified its certificate.
struct Peer {
  security::Identity identity;
  std::string issuer;
  std::string serial;
  WallTime not_after;
  bool may_serve = false;  ///< The certificate is for servers, too (serverAuth).
};

/// Reads the peer from its certificate. kDenied if that is not an identity of this cluster, or
/// lacks the extended key usage clientAuth, so that it is not for clients.
[[nodiscard]] Result<Peer> read_peer(std::string_view pem);

/// Caches the peers of certificates: reading one costs more than many a call. The certificate
/// itself is the key, so no peer is mistaken for another. Bounded: when full, it is cleared. It
/// holds no verdict: admit() is still called each time. Threads: any.
class PeerCache {
 public:
  explicit PeerCache(std::size_t peers_max = 16'384) : peers_max_(peers_max) {}
  [[nodiscard]] Result<std::shared_ptr<const Peer>> read(std::string_view pem)
      MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] std::size_t size() const MUSTER_EXCLUDES(mutex_);

 private:
  const std::size_t peers_max_;
  mutable Mutex mutex_;
  /// Looks up without a copy of the certificate.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view pem) const {
      return std::hash<std::string_view>()(pem);
    }
  };
  std::unordered_map<std::string, std::shared_ptr<const Peer>, Hash, std::equal_to<>> peers_
      MUSTER_GUARDED_BY(mutex_);
};

/// Whether its certificate is still valid: neither expired nor revoked. Otherwise kDenied. Any
/// thread.
[[nodiscard]] Status still_valid(const Peer& peer, const CrlKeeper* revocations, WallTime now);

/// Whether this peer may make this call now: its certificate is neither expired nor revoked, and
/// its role allows it. Call it for each call, and again during long ones, because TLS repeats no
/// handshake when a certificate is revoked. `revocations` is null without lists.
/// security::may_speak_for decides for which nodes the peer may speak. Otherwise kDenied with one
/// sentence. Any thread.
[[nodiscard]] Status admit(const Peer& peer, security::Call call, const CrlKeeper* revocations,
                           WallTime now);

}  // namespace muster::server
