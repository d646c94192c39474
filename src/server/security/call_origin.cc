#include "server/security/call_origin.h"

namespace muster::server {
namespace {

/// A claimed id may be of any length, and is kept.
constexpr std::size_t kClaimedMax = 64;

Status not_let_in() {
  return {Errc::kDenied, "the caller has not been authenticated"};
}

}  // namespace

std::string CallOrigin::name() const {
  if (!peer) return "unauthenticated client at " + host;
  return std::string(to_string(peer->identity.role)) + " " + peer->identity.id;
}

std::string CallOrigin::limit_key(std::string_view node_id) const {
  const std::string about(node_id.substr(0, kClaimedMax));
  if (!peer) return host + "/" + about;
  const std::string own = std::string(to_string(peer->identity.role)) + "/" + peer->identity.id;
  return peer->identity.role == security::Role::kNode ? own : own + "/" + about;
}

Status may_speak_for(const CallOrigin* caller, std::string_view node_id) {
  if (caller == nullptr) return not_let_in();
  if (!caller->peer) return Done{};
  return security::may_speak_for(caller->peer->identity, node_id);
}

Status may_register(const CallOrigin* caller, std::string_view node_id, std::string_view address) {
  if (caller == nullptr) return not_let_in();
  if (!caller->peer) return Done{};
  return security::may_register(caller->peer->identity, node_id, address);
}

}  // namespace muster::server
