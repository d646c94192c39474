#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "server/config_address.h"
#include "store/open.h"

namespace muster::engine {

/// Says at a server's peer address, until its engine takes that address over, that the server is
/// there and has no data yet. The others ask with the request that a running engine answers with
/// its members, so that one question tells all cases apart.
///
/// With TLS (1.3) only holders of a server's certificate are answered, as by etcd. A thread of its
/// own; start and destroy it on one thread. Destroying it frees the address.
class RollCall {
 public:
  RollCall();
  ~RollCall();
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;

  /// kUnavailable when the address is taken, kInvalid when the certificates cannot be used.
  [[nodiscard]] Status start(const std::string& name, const Address& listen, const TlsFiles& tls);
  /// From now on it says, too, that this server has seen all of its peers without data.
  void saw_all();

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

/// The path of the question, etcd's own.
inline constexpr const char* kMembersPath = "/members";

}  // namespace muster::engine
