#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>

namespace muster {

/// 127.0.0.1 and a port; 0 lets the kernel choose one.
[[nodiscard]] inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

}  // namespace muster
