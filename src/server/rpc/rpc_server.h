#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "server/rpc/call.h"
#include "server/rpc/peers.h"

namespace muster::rpc {

/// A longer request is refused with RESOURCE_EXHAUSTED before it is read.
inline constexpr std::size_t kRequestBytesMax = 2 * 1024 * 1024;

struct RpcServerOptions {
  std::string listen;                 ///< host:port; port 0 picks one.
  std::string id;                     ///< This server's, told to servers that forward calls to us.
  std::vector<std::string> services;  ///< Their full names, for reflection.
  /// Open calls, watches included. Further ones are refused with RESOURCE_EXHAUSTED.
  std::size_t calls_max = 50'000;
};

/// gRPC's side of a server: accepts calls on one address and hands every one to `on_call` on the
/// loop; answers server reflection and grpc.health.v1 by itself. One thread polls gRPC.
///
/// Plaintext: listens on loopback only, whatever it is told. Loop thread only.
class RpcServer final : public Peers {
 public:
  RpcServer(Loop& loop, RpcServerOptions options, std::function<void(CallPtr)> on_call);
  ~RpcServer() override;
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  /// Answers with the port.
  [[nodiscard]] Result<int> start();
  /// What grpc.health.v1 says, for the server as a whole and for each service.
  void set_serving(bool serving);

  /// On the thread that polls anyway.
  void call_peer(const std::string& address, const std::string& method, std::string request,
                 Duration timeout, std::function<void(RpcStatus, std::string)> done) override;

  /// Gives the answers that are on their way up to `limit` to leave, then calls `done`, in which
  /// close() may follow. Calls go on coming in meanwhile.
  void drain(Duration limit, std::function<void()> done);

  /// Ends every call and stops listening. Nothing is called back afterwards.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::rpc
