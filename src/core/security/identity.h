#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/security/role.h"

namespace muster::security {

/// A name that every server's certificate holds among its DNS names, and no other's: what knows
/// only host names, as etcd does, tells servers by it.
inline constexpr const char* kServerName = "server.muster.internal";

/// The names in a certificate, as somebody else has read them. They may hold any byte.
struct CertificateNames {
  std::vector<std::string> common_names;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::vector<std::string> uris;
};

/// Who a certificate says its holder is. Its role is the one URI `muster:role:ROLE` among its
/// alternative names, its id the one common name, and an agent has a URI `muster:carries:ID` or
/// `muster:carries:PREFIX*` for each id, or beginning of ids, that it may speak for.
/// A value: it proves nothing, and is worth as much as the handshake that the names came from.
struct Identity {
  Role role = Role::kReader;
  std::string id;
  std::vector<std::string> addresses;         ///< In the form of canonical_address.
  std::vector<std::string> carried_ids;       ///< Of an agent only.
  std::vector<std::string> carried_prefixes;  ///< Of an agent only, without the star.
};

/// kDenied unless the names are exactly of that form. A `muster:` URI that is not known is refused,
/// not passed over: it may be a restriction that this version does not know yet. A wildcard among
/// the host names is refused as well.
[[nodiscard]] Result<Identity> identify(const CertificateNames& names);

/// Whether it may speak for this node: a node for itself, an agent for those it carries, a server
/// for whomever it forwards, an admin for all. kDenied names what differs.
[[nodiscard]] Status may_speak_for(const Identity& who, std::string_view node_id);
/// As above, for a node that says where it is: a node's or an agent's certificate must hold that
/// address too, so that a stolen id cannot be used to draw traffic elsewhere.
[[nodiscard]] Status may_register(const Identity& who, std::string_view node_id,
                                  std::string_view address);

/// Names are compared in lower case, IPv6 addresses in their shortest form.
[[nodiscard]] std::string canonical_address(std::string_view address);

/// The other direction, for who makes certificates: the URIs that give `role`, and let an agent
/// speak for `carries` (ids, or prefixes with a star). kInvalid when identify would refuse them.
[[nodiscard]] Result<std::vector<std::string>> identity_uris(Role role,
                                                             std::span<const std::string> carries);

}  // namespace muster::security
