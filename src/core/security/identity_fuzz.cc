#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "core/membership/validation.h"
#include "core/security/identity.h"
#include "core/security/permissions.h"

// Lines of names: c… common name, d… DNS, i… address, u… URI; q… a node id to speak for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  security::CertificateNames names;
  std::string node;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const std::string value(line.substr(1));
    if (line[0] == 'c') names.common_names.push_back(value);
    if (line[0] == 'd') names.dns_names.push_back(value);
    if (line[0] == 'i') names.ip_addresses.push_back(value);
    if (line[0] == 'u') names.uris.push_back(value);
    if (line[0] == 'q') node = value;
  }
  const auto who = security::identify(names);
  if (!who) {
    MUSTER_CHECK(who.is(Errc::kDenied));
  } else {
    MUSTER_CHECK(membership::validate_node_id(who->id).ok());
    // Nobody but servers and admins speaks for an id that the certificate does not begin to name.
    if (security::may_speak_for(*who, node).ok()) {
      using security::Role;
      MUSTER_CHECK(who->role != Role::kReader);
      if (who->role == Role::kNode) MUSTER_CHECK(who->id == node);
      if (who->role == Role::kAgent) {
        bool named = false;
        for (const auto& id : who->carried_ids) named = named || id == node;
        for (const auto& start : who->carried_prefixes) {
          named = named || (!start.empty() && node.starts_with(start));
        }
        MUSTER_CHECK(named);
      }
    }
  }
  // A path that is let in without a certificate is one of two, byte by byte.
  const auto call = security::call_of_path(text);
  if (call && security::allowed_without_certificate(*call)) {
    MUSTER_CHECK(text == "/healthz" || text == "/readyz");
  }
  return 0;
}
