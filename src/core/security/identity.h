#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/security/role.h"

namespace muster::security {

/// A DNS name in every server's certificate, and in no other: programs that know only host names,
/// as etcd does, recognise servers by it.
inline constexpr const char* kServerName = "server.muster.internal";

/// The names in a certificate, as another module read them. They may contain any byte.
struct CertificateNames {
  std::vector<std::string> common_names;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::vector<std::string> uris;
};

/// The holder of a certificate. The role is the one URI `muster:role:ROLE` among the alternative
/// names, the id the one common name, and an agent has a URI `muster:carries:ID` or
/// `muster:carries:PREFIX*` for each id, or prefix of ids, for which it may speak. A value: it
/// proves nothing, and is worth as much as the handshake that the names came from.
struct Identity {
  Role role = Role::kReader;
  std::string id;
  std::vector<std::string> addresses;         ///< In the form of canonical_address.
  std::vector<std::string> carried_ids;       ///< Only for an agent.
  std::vector<std::string> carried_prefixes;  ///< Only for an agent, without the star.
};

/// kDenied unless the names have exactly that form. An unknown `muster:` URI is refused, not
/// ignored: it may be a restriction that this version does not know yet. A wildcard among the host
/// names is also refused.
[[nodiscard]] Result<Identity> identify(const CertificateNames& names);

/// Whether it may speak for this node: a node for itself, an agent for those it carries, a server
/// for every client whose request it forwards, an admin for all. kDenied names the difference.
[[nodiscard]] Status may_speak_for(const Identity& who, std::string_view node_id);
/// Likewise, for a node that reports its address: a node's or an agent's certificate must hold that
/// address too, so that a stolen id cannot redirect traffic.
[[nodiscard]] Status may_register(const Identity& who, std::string_view node_id,
                                  std::string_view address);

/// Names are compared in lower case, IPv6 addresses in their shortest form.
[[nodiscard]] std::string canonical_address(std::string_view address);

/// The reverse, for issuing certificates: the URIs that give `role`, and let an agent speak for
/// `carries` (ids, or prefixes with a star). kInvalid if identify would refuse them.
[[nodiscard]] Result<std::vector<std::string>> identity_uris(Role role,
                                                             std::span<const std::string> carries);

}  // namespace muster::security
