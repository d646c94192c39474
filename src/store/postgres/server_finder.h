#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "platform/resolver.h"
#include "store/postgres/address.h"
#include "store/postgres/libpq.h"

namespace muster::postgres {

/// One address of a server.
struct Target {
  Host host;
  std::string address{};  ///< Numeric; empty for a socket's directory and for libpq's default.
};

/// Finds the addresses of an address's hosts, or of those that a service file or the environment
/// names, and looks names up in threads, because libpq would hold up the loop. Threads: loop thread
/// only. The destructor cancels it.
class ServerFinder {
 public:
  using Found = std::function<void(Result<std::vector<Target>>)>;

  ServerFinder(const Libpq& pq, Loop& loop) : pq_(pq), loop_(loop), resolver_(loop) {}

  /// Answers from the loop, in the order of the hosts; kUnavailable if there is none. One at a
  /// time.
  void find(const DatabaseAddress& address, Found found);

 private:
  void resolved(std::size_t host, const Result<std::vector<SocketAddress>>& addresses);

  const Libpq& pq_;
  Loop& loop_;
  Found found_;
  std::vector<std::vector<Target>> targets_;  ///< Per host.
  std::size_t looked_up_ = 0;
  std::string failure_;
  Lifetime lifetime_;
  Resolver resolver_;
};

}  // namespace muster::postgres
