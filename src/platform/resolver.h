#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"

namespace muster {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  [[nodiscard]] int family() const { return bytes.ss_family; }
};

/// Looks up what a name stands for, as the system is told to (hosts file, DNS), on a thread of its
/// own, because that may take its time. Addresses are known at once. Loop thread only.
class Resolver {
 public:
  using Answer = std::function<void(Result<std::vector<SocketAddress>>)>;

  explicit Resolver(Loop& loop);
  /// Nobody is answered afterwards.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// `host` may stand in brackets. Answers on the loop, never from within. kUnavailable names what
  /// the system said.
  void resolve(const std::string& host, std::uint16_t port, Answer answer);
  /// The socket file at `path`. kInvalid when it is too long.
  [[nodiscard]] static Result<SocketAddress> local(const std::string& path);

 private:
  struct Gate;
  Loop& loop_;
  std::shared_ptr<Gate> gate_;
};

}  // namespace muster
