#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace muster::security {

/// What the holder of a certificate is. What each may do is in permissions.h.
enum class Role {
  kServer,  ///< A musterd. Other servers believe what it forwards.
  kNode,    ///< A node of the topology, which speaks for itself.
  kAgent,   ///< Speaks for the nodes that its certificate names.
  kAdmin,   ///< An operator: everything.
  kReader,  ///< Looks, and changes nothing.
};

inline constexpr std::array kRoles{Role::kServer, Role::kNode, Role::kAgent, Role::kAdmin,
                                   Role::kReader};

[[nodiscard]] const char* to_string(Role role);
[[nodiscard]] std::optional<Role> parse_role(std::string_view text);

}  // namespace muster::security
