#pragma once

#include <cstdint>
#include <string>

namespace muster::bench {

/// What a radosgw has been asked, by its own account.
struct GatewayCount {
  std::uint64_t requests = 0;  ///< All of them: refused ones and those for absent keys, too.
  std::uint64_t gets = 0;      ///< Objects read, or found unchanged.
  std::uint64_t puts = 0;      ///< Objects written, or refused by their condition.

  /// Lists, removals and reads of absent keys: the gateway does not tell these apart.
  [[nodiscard]] std::uint64_t others() const { return requests - gets - puts; }
  GatewayCount operator-(const GatewayCount& earlier) const {
    return {requests - earlier.requests, gets - earlier.gets, puts - earlier.puts};
  }
};

/// Asks the gateway's admin socket; no S3 request, so asking does not count.
[[nodiscard]] GatewayCount count_requests(const std::string& admin_socket);

}  // namespace muster::bench
