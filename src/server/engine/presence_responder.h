#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "core/net/address.h"
#include "platform/event_loop.h"
#include "platform/http/server.h"
#include "store/open/open.h"

namespace muster::engine {

/// Reports at a server's peer address, until its engine takes the address over, that the server is
/// present and has no data yet. The others ask with the request that a running engine answers with
/// its members, so that one request distinguishes all cases.
///
/// With TLS (1.3) it answers only holders of a server's certificate, as etcd does. Threads: loop
/// thread only. The destructor frees the address.
class PresenceResponder {
 public:
  PresenceResponder(EventLoop& loop, std::string name) : loop_(loop), name_(std::move(name)) {}
  PresenceResponder(const PresenceResponder&) = delete;
  PresenceResponder& operator=(const PresenceResponder&) = delete;

  /// Answers with the port. kUnavailable when the address is taken, kInvalid when the certificates
  /// cannot be used.
  [[nodiscard]] Result<std::uint16_t> start(const Address& listen, const TlsFiles& tls);
  /// From now on it says, too, that this server has seen all of its peers without data.
  void saw_all() { saw_all_ = true; }

 private:
  void answer(http::Exchange& exchange) const;

  EventLoop& loop_;
  const std::string name_;
  bool saw_all_ = false;
  std::unique_ptr<http::Server> server_;
};

/// The path of the question, etcd's own.
inline constexpr const char* kMembersPath = "/members";

}  // namespace muster::engine
