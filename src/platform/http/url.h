#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace muster::http {

/// The parts of an http: or https: address that a request needs. Nothing is decoded or normalised
/// apart from the user name: what is asked for is what the address says.
struct Url {
  bool tls = false;
  std::string host;  ///< As a name or an address, without brackets.
  std::uint16_t port = 0;
  std::string authority;  ///< As it stands there, without a user name: for `Host` and for people.
  std::string target;     ///< Path and query; at least "/".
  std::string user;       ///< "name:password", decoded; empty when there is none.

  /// "host:port", with the brackets of an IPv6 address.
  [[nodiscard]] std::string host_and_port() const;
};

/// kInvalid when it is not such an address, or holds a space or a control character.
/// `default_port` stands for those of the schemes where it is not 0.
[[nodiscard]] Result<Url> parse_url(const std::string& text, std::uint16_t default_port = 0);

/// The value of `Authorization` or `Proxy-Authorization` for "name:password".
[[nodiscard]] std::string basic_credentials(const std::string& user);

}  // namespace muster::http
