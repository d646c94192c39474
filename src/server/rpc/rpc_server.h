#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "rpc/breach.h"
#include "rpc/call.h"
#include "rpc/server.h"
#include "rpc/tls.h"
#include "server/rpc/peers.h"

namespace muster {
class EventLoop;
}  // namespace muster

namespace muster::rpc {

/// A longer request is refused with RESOURCE_EXHAUSTED before it is read.
inline constexpr std::size_t kRequestBytesMax = 2 * 1024 * 1024;

/// A server's certificates and its checks of clients: mutual TLS, 1.3 only. A connection uses the
/// files in use when it begins; existing ones go on.
struct RpcTls {
  /// For a client that connects. It refuses clients that must not connect.
  std::function<Result<SslPtr>()> accept;
  /// For a connection to another server, whose certificate must hold the name of the host ...
  std::function<Result<SslPtr>(const std::string& host)> connect;
  /// ... and be one of a server.
  std::function<Status(SSL*)> verify_server;
  /// A connection this old takes no new calls, and those it has go on: its client connects again,
  /// with the certificate that it has by then. A handshake is never repeated otherwise.
  Duration connection_age_max = 10min;
};

struct RpcServerOptions {
  std::string listen;                 ///< host:port; port 0 picks one.
  std::string id;                     ///< This server's, told to servers that forward calls to us.
  std::vector<std::string> services;  ///< Their full names, for reflection.
  /// Open calls, watches included. Further ones are refused with RESOURCE_EXHAUSTED.
  std::size_t calls_max = 50'000;
  std::function<void()> call_refused{};  ///< Called for each of those.
  /// An answer that its client has not taken by then is dropped.
  Duration taken_within = 30s;
  /// As in ServerOptions.
  ConnectionBudget::Options connections{};
  Anteroom::Options anteroom{};
  /// As in ListenerOptions.
  int descriptors_max = 0;
  std::function<void(Refusal why, const std::string& remote)> connection_refused{};
  /// A connection was closed because its client broke a rule of HTTP/2 or flooded it; `certificate`
  /// is the client's, empty in plaintext.
  std::function<void(Breach breach, const std::string& remote, std::string_view certificate,
                     const std::string& why)>
      cut{};
  /// Who a client is whose bytes are counted; as in ServerOptions.
  std::function<Client(std::string_view certificate, const std::string& remote)> client{};
  std::optional<RpcTls> tls{};  ///< None: plaintext.
  /// Called first, for every call, health and reflection included; false if it has ended the call.
  /// Empty: every client may call.
  std::function<bool(const CallPtr&)> admit{};
};

/// The RPC side of a server: accepts calls on one address and hands every one to `on_call` on the
/// loop; answers server reflection and grpc.health.v1 by itself, and asks other servers.
///
/// Loop thread only.
class RpcServer final : public Peers {
 public:
  RpcServer(EventLoop& loop, RpcServerOptions options, std::function<void(CallPtr)> on_call);
  ~RpcServer() override;
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  /// Answers with the port.
  [[nodiscard]] Result<int> start();
  /// What grpc.health.v1 says, for the server as a whole and for each service.
  void set_serving(bool serving);

  /// Other limits from now on; open connections stay.
  void limit_connections(const ConnectionBudget::Options& limits, int descriptors_max);

  /// Calls that clients have open, answers on their way included.
  [[nodiscard]] std::size_t calls() const;
  /// Connections that clients have open.
  [[nodiscard]] std::size_t connections() const;

  void call_peer(const std::string& address, const std::string& method, std::string request,
                 Duration timeout, std::function<void(RpcStatus, std::string)> done,
                 Metadata metadata = {}) override;

  /// Later requests use new connections, which show a certificate first; current ones go on.
  void forget_peers();

  /// As rpc::Server has it: calls under way have up to `limit` for their answers, and clients go
  /// elsewhere; then calls `done`, in which close() may follow.
  void drain(Duration limit, std::function<void()> done);

  /// Ends every call and stops listening. Nothing is called back afterwards.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::rpc
