#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/security/identity.h"
#include "core/security/permissions.h"
#include "server/tls/crl_keeper.h"

namespace muster::server {

/// Who is at the other end of a connection, after a handshake that has verified the certificate.
struct Peer {
  security::Identity identity;
  std::string issuer;
  std::string serial;
  WallTime not_after;
};

/// Reads it from the certificate that was shown. kDenied when it is no identity of ours.
[[nodiscard]] Result<Peer> read_peer(std::string_view pem);

/// Whether this peer may make this call now: its certificate is neither over nor revoked, and its
/// role allows it. To be asked for each call, and again during long ones: a handshake is not
/// repeated when somebody is revoked. `revocations` is null where no list is kept. For whom the
/// peer may speak is security::may_speak_for's question. kDenied with one sentence otherwise. Any
/// thread.
[[nodiscard]] Status admit(const Peer& peer, security::Call call, const CrlKeeper* revocations,
                           WallTime now);

}  // namespace muster::server
