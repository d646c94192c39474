#include "core/net/host_check.h"

#include "base/text.h"
#include "core/membership/validation.h"

namespace muster {
namespace {

/// Without the dot that ends a complete name.
std::string normalized(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return to_lower(host);
}

}  // namespace

Status check_host(std::string_view header, const Address& listening, std::string_view own_name) {
  if (header.empty()) return Done{};
  auto asked = Address::parse(header, 80);
  if (asked) asked->host = normalized(asked->host);
  if (asked && asked->is_loopback()) return Done{};
  if (listening.is_loopback()) {
    return {Errc::kDenied,
            "without certificates only requests from this machine are answered; "
            "use the host localhost"};
  }
  const bool named =
      asked && (membership::is_ipv4(asked->host) || membership::is_ipv6(asked->host) ||
                asked->host == normalized(own_name) || asked->host == normalized(listening.host));
  if (named) return Done{};
  return {Errc::kDenied,
          "the request names another machine as its host; use this machine's address, or " +
              std::string(own_name)};
}

}  // namespace muster
