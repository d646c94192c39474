#include "core/security/role.h"

namespace muster::security {

const char* to_string(Role role) {
  switch (role) {
    case Role::kServer:
      return "server";
    case Role::kNode:
      return "node";
    case Role::kAgent:
      return "agent";
    case Role::kAdmin:
      return "admin";
    case Role::kReader:
      return "reader";
  }
  return "unknown";
}

std::optional<Role> parse_role(std::string_view text) {
  for (const Role role : kRoles) {
    if (text == to_string(role)) return role;
  }
  return std::nullopt;
}

}  // namespace muster::security
