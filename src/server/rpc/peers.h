#pragma once

#include <functional>
#include <string>

#include "base/time.h"
#include "rpc/call.h"
#include "rpc/status.h"

namespace muster::rpc {

/// The way to the other servers. The real one is rpc_server.h. Loop thread only.
class Peers {
 public:
  virtual ~Peers() = default;

  /// One request to another server and its answer. The status is the other server's, or
  /// UNAVAILABLE when the request never left. When it left and no server answered, it is UNKNOWN.
  virtual void call_peer(const std::string& address, const std::string& method, std::string request,
                         Duration timeout, std::function<void(RpcStatus, std::string)> done,
                         Metadata metadata = {}) = 0;
};

}  // namespace muster::rpc
