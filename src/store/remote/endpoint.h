#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::remote {

/// Where a server is: host:port, [v6]:port, or unix:/path of a socket.
struct Endpoint {
  std::string host;  ///< As it was written, brackets and unix: included.
  std::uint16_t port = 0;

  /// kInvalid when `text` is none of these.
  [[nodiscard]] static Result<Endpoint> parse(const std::string& text);
  /// What a certificate calls the server.
  [[nodiscard]] std::string name() const;
};

/// Each of host, host:port, [v6] or [v6]:port, with `port` where none is named. kInvalid when one
/// is none of these.
[[nodiscard]] Result<std::vector<std::string>> with_ports(const std::vector<std::string>& hosts,
                                                          std::string_view port);

}  // namespace muster::remote
