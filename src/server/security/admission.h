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

/// Who is at the other end of a connection, after a handshake that has verified the certificate.
struct Peer {
  security::Identity identity;
  std::string issuer;
  std::string serial;
  WallTime not_after;
  bool may_serve = false;  ///< The certificate is for servers, too (serverAuth).
};

/// Reads it from the certificate that was shown. kDenied when it is no identity of ours, or not for
/// who connects: a certificate without the extended key usage clientAuth is for something else.
[[nodiscard]] Result<Peer> read_peer(std::string_view pem);

/// Remembers whom certificates stand for: reading one costs more than many a call. The certificate
/// itself is the key, so nobody is taken for another. Bounded: when it is full it begins anew.
/// Holds no verdict: admit() is still asked each time. Any thread.
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

/// Whether its certificate still counts: it is neither over nor revoked. kDenied otherwise. Any
/// thread.
[[nodiscard]] Status still_valid(const Peer& peer, const CrlKeeper* revocations, WallTime now);

/// Whether this peer may make this call now: its certificate is neither over nor revoked, and its
/// role allows it. To be asked for each call, and again during long ones: a handshake is not
/// repeated when a certificate is revoked. `revocations` is null where no list is kept. For which
/// the peer may speak is security::may_speak_for's question. kDenied with one sentence otherwise.
/// Any thread.
[[nodiscard]] Status admit(const Peer& peer, security::Call call, const CrlKeeper* revocations,
                           WallTime now);

}  // namespace muster::server
