#include "bench/gateway_count.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "platform/unique_fd.h"

namespace muster::bench {
namespace {

void receive(int fd, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t count = ::recv(fd, data, size, 0);
    MUSTER_CHECK(count > 0);
    data += count;
    size -= static_cast<std::size_t>(count);
  }
}

/// One command in, its length and its JSON out: Ceph's own protocol.
nlohmann::json ask(const std::string& path, const std::string& command) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  MUSTER_CHECK(path.size() < sizeof address.sun_path);
  std::strcpy(address.sun_path, path.c_str());
  MUSTER_CHECK(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
               0);
  const std::size_t size = command.size() + 1;  // It ends with a zero.
  MUSTER_CHECK(::send(fd.get(), command.c_str(), size, 0) == static_cast<ssize_t>(size));
  std::uint32_t length = 0;
  receive(fd.get(), reinterpret_cast<char*>(&length), sizeof length);
  std::string body(ntohl(length), '\0');
  receive(fd.get(), body.data(), body.size());
  return nlohmann::json::parse(body);
}

}  // namespace

GatewayCount count_requests(const std::string& admin_socket) {
  const nlohmann::json counters = ask(admin_socket, R"({"prefix": "perf dump"})").at("rgw");
  return {counters.at("req"), counters.at("get"), counters.at("put")};
}

}  // namespace muster::bench
