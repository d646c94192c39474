#include "server/rpc/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace muster::rpc {
namespace {

/// Messages that are closer to each other than this belong together.
constexpr Duration kClose = 100us;

void hold(int fd, int on) {
  ::setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

/// As gRPC writes it; empty when the socket has no other side any more.
std::string peer_of(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (name.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(name);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return std::string("ipv4:") + text.data() + ":" + std::to_string(ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(name);
  const std::string port = std::to_string(ntohs(v6.sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
    return std::string("ipv4:") + text.data() + ":" + port;
  }
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  return std::string("ipv6:%5B") + text.data() + "%5D:" + port;
}

}  // namespace

void Connections::accepted(int fd) {
  Connection& connection = all_[fd];
  const auto before = by_peer_.find(connection.peer);
  if (before != by_peer_.end() && before->second == fd) by_peer_.erase(before);
  connection = {.peer = peer_of(fd)};
  if (!connection.peer.empty()) by_peer_[connection.peer] = fd;
}

int Connections::find(const std::string& peer) const {
  const auto found = by_peer_.find(peer);
  return found == by_peer_.end() ? kNone : found->second;
}

std::size_t Connections::open() const {
  return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [](const auto& each) {
    const std::string& peer = each.second.peer;
    return !peer.empty() && peer_of(each.first) == peer;
  }));
}

void Connections::writes(int fd) {
  const auto found = all_.find(fd);
  if (found == all_.end()) return;
  Connection& connection = found->second;
  if (connection.held) return;
  const MonoTime now = clock_.now();
  if (now - std::exchange(connection.written, now) >= kClose) return;
  connection.held = true;
  hold(fd, 1);
  if (held_.empty()) before_sleep_(lifetime_.wrap([this] { release(); }));
  held_.push_back(fd);
}

void Connections::release() {
  for (const int fd : held_) {
    hold(fd, 0);
    all_[fd].held = false;
  }
  held_.clear();
}

}  // namespace muster::rpc
