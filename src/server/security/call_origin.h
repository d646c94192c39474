#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "server/security/admission.h"

namespace muster::server {

/// The caller and the subject of a call. AccessControl creates it when it admits the call; without
/// it, no call may speak for a node. Threads: loop thread only.
struct CallOrigin {
  std::shared_ptr<const Peer> peer;  ///< Null in plaintext, where every caller is believed.
  std::string host;                  ///< Where the call comes from.
  bool forwarded = false;            ///< By another server, which has made these checks.
  std::string subject{};             ///< The node or key that it is about, once known.

  /// "node n1", or "unauthenticated client at 127.0.0.1" without a certificate.
  [[nodiscard]] std::string name() const;
  /// The key under which its requests about `node_id` (empty: about none) are counted. A node
  /// counts as itself, an agent once for each of its nodes, and a caller without a certificate as
  /// its address with the node that it claims to be (T26).
  [[nodiscard]] std::string limit_key(std::string_view node_id) const;
};

/// Whether a caller may speak for the node, or register it there. kDenied names what differs.
[[nodiscard]] Status may_speak_for(const CallOrigin* caller, std::string_view node_id);
[[nodiscard]] Status may_register(const CallOrigin* caller, std::string_view node_id,
                                  std::string_view address);

}  // namespace muster::server
