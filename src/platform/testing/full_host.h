#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

#include "base/check.h"
#include "platform/resolver.h"
#include "platform/unique_fd.h"

namespace muster::testing {

/// Listens, and takes nobody: what connects waits.
class FullHost {
 public:
  FullHost() {
    listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto& four = reinterpret_cast<sockaddr_in&>(address_.bytes);
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address_.size = sizeof four;
    auto* generic = reinterpret_cast<sockaddr*>(&address_.bytes);
    MUSTER_CHECK(::bind(listener_.get(), generic, address_.size) == 0);
    MUSTER_CHECK(::listen(listener_.get(), 0) == 0);
    MUSTER_CHECK(::getsockname(listener_.get(), generic, &address_.size) == 0);
    for (int i = 0; i < 3; ++i) {
      waiting_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      static_cast<void>(::connect(waiting_.back().get(), generic, address_.size));
    }
  }
  [[nodiscard]] const SocketAddress& address() const { return address_; }
  [[nodiscard]] int port() const {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address_.bytes).sin_port);
  }

 private:
  UniqueFd listener_;
  SocketAddress address_;
  std::vector<UniqueFd> waiting_;
};

}  // namespace muster::testing
