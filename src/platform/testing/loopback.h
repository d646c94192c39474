#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <iostream>

#include "platform/unique_fd.h"

namespace muster::testing {

/// A blocking connection to a port of this machine, whose reads give up after a while.
[[nodiscard]] inline UniqueFd dial_loopback(int port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<in_port_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  const timeval patience{20, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return fd;
}

/// Whether this machine has IPv6.
[[nodiscard]] inline bool has_ipv6() {
  const UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 own{};
  own.sin6_family = AF_INET6;
  own.sin6_addr = in6addr_loopback;
  return ::bind(fd.get(), reinterpret_cast<sockaddr*>(&own), sizeof own) == 0;
}

/// As dial_loopback(), over IPv6. On a machine without it is IPv4 again, and the test says so.
[[nodiscard]] inline UniqueFd dial_loopback6(int port) {
  if (!has_ipv6()) {
    std::cout << "this machine has no IPv6: IPv4 is tried twice\n";
    return dial_loopback(port);
  }
  UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(static_cast<in_port_t>(port));
  to.sin6_addr = in6addr_loopback;
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  const timeval patience{20, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return fd;
}

}  // namespace muster::testing
