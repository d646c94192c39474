#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "server/security/admission.h"

namespace muster::server {

/// Who is at the other end of a call, and what it is about. Made by the AccessControl when the call
/// is let in; without one, nobody may speak for anybody. Loop thread only.
struct Caller {
  std::shared_ptr<const Peer> peer;  ///< Null in plaintext, where everybody is believed.
  std::string host;                  ///< Where the call comes from.
  bool forwarded = false;  ///< By another server, which has asked all these questions itself.
  std::string subject{};   ///< The node or key that it is about, once that is known.

  /// "node n1", or "unauthenticated client at 127.0.0.1" without a certificate.
  [[nodiscard]] std::string name() const;
  /// Under which its requests about `node_id` (empty: about none) are counted. A node is itself;
  /// who speaks for several is counted for each; without a certificate it is the address and the
  /// node it claims to be (T26).
  [[nodiscard]] std::string limit_key(std::string_view node_id) const;
};

/// Whether a caller may speak for the node, or register it there. kDenied names what differs.
[[nodiscard]] Status may_speak_for(const Caller* caller, std::string_view node_id);
[[nodiscard]] Status may_register(const Caller* caller, std::string_view node_id,
                                  std::string_view address);

}  // namespace muster::server
