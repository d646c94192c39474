#include "tests/support/silent_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/check.h"

namespace muster {

SilentServer::SilentServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  // The kernel completes connections up to the backlog by itself; nobody accepts them.
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  MUSTER_CHECK(::bind(listener_.get(), plain, length) == 0);
  MUSTER_CHECK(::listen(listener_.get(), 128) == 0);
  MUSTER_CHECK(::getsockname(listener_.get(), plain, &length) == 0);
  port_ = ntohs(address.sin_port);
}

}  // namespace muster
