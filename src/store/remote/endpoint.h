#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::remote {

/// The address of a server: host:port, [v6]:port, or unix:/path of a socket.
struct Endpoint {
  std::string host;  ///< As written, including brackets and unix:.
  std::uint16_t port = 0;

  /// Returns kInvalid if `text` is none of these.
  [[nodiscard]] static Result<Endpoint> parse(const std::string& text);
  /// The server's name in a certificate.
  [[nodiscard]] std::string name() const;
};

/// Converts host, host:port, [v6] or [v6]:port; `port` is the default. Returns kInvalid if one of
/// them has another form.
[[nodiscard]] Result<std::vector<std::string>> with_ports(const std::vector<std::string>& hosts,
                                                          std::string_view port);

}  // namespace muster::remote
