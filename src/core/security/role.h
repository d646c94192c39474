#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace muster::security {

/// The role of a certificate's holder. permissions.h lists the permissions of each.
enum class Role {
  kServer,  ///< A musterd. Other servers believe its forwarded requests.
  kNode,    ///< A node of the topology, which speaks for itself.
  kAgent,   ///< Speaks for the nodes that its certificate names.
  kAdmin,   ///< An operator: everything.
  kReader,  ///< Reads, and changes nothing.
};

inline constexpr std::array kRoles{Role::kServer, Role::kNode, Role::kAgent, Role::kAdmin,
                                   Role::kReader};

[[nodiscard]] const char* to_string(Role role);
[[nodiscard]] std::optional<Role> parse_role(std::string_view text);

}  // namespace muster::security
