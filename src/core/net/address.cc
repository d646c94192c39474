#include "core/net/address.h"

#include <optional>

#include "base/text.h"
#include "core/membership/validation.h"

namespace muster {
namespace {

Error not_an_address(std::string_view text) {
  return {Errc::kInvalid, "\"" + std::string(text) +
                              "\" is not an address; write host:port, such as 127.0.0.1:9000 or "
                              "[::1]:9000"};
}

/// ::1, however its zeros are written: valid groups that end with 1 and are zero before.
bool is_ipv6_loopback(std::string_view host) {
  return membership::is_ipv6(host) && host.ends_with('1') &&
         host.find_first_not_of(":0") == host.size() - 1;
}

bool is_ipv4_loopback(std::string_view host) {
  return host.starts_with("127.") && membership::is_ipv4(host);
}

bool is_host(const std::string& host, bool bracketed) {
  if (bracketed) return membership::is_ipv6(host);
  return host.empty() || host == "*" || membership::is_ipv4(host) || membership::is_hostname(host);
}

}  // namespace

Result<Address> Address::parse(std::string_view text, std::uint16_t port) {
  const bool bracketed = text.starts_with('[');
  const auto bracket = text.find(']');
  if (bracketed && bracket == std::string_view::npos) return not_an_address(text);
  const std::string_view tail = bracketed ? text.substr(bracket + 1) : text;
  const auto colon = tail.find(':');
  const std::string_view host = bracketed ? text.substr(1, bracket - 1) : tail.substr(0, colon);
  if (bracketed && !tail.empty() && colon != 0) return not_an_address(text);

  Address address{std::string(host), port};
  if (colon != std::string_view::npos) {
    const auto number = parse_unsigned(tail.substr(colon + 1));
    if (!number || *number > 65535) return not_an_address(text);
    address.port = static_cast<std::uint16_t>(*number);
  } else if (port == 0 || text.empty()) {
    return not_an_address(text);
  }
  if (!is_host(address.host, bracketed)) return not_an_address(text);
  if (address.host.empty() || address.host == "*") address.host = "0.0.0.0";
  return address;
}

bool Address::is_wildcard() const {
  return host == "0.0.0.0" || host == "::";
}

bool Address::is_loopback() const {
  return host == "localhost" || is_ipv6_loopback(host) || is_ipv4_loopback(host);
}

std::string Address::to_string() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace muster
