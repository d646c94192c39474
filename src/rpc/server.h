#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "platform/event_loop.h"
#include "rpc/anteroom.h"
#include "rpc/breach.h"
#include "rpc/byte_budget.h"
#include "rpc/call.h"
#include "rpc/connection.h"
#include "rpc/connection_budget.h"

namespace muster::rpc {

/// The client of a connection, for the limits per client.
struct Client {
  std::string name;
  ByteBudget::Whose whose = ByteBudget::Whose::kClient;
  /// A server or an operator: it may use the reserved connections.
  bool reserved = false;
};

/// Why a connection was closed before it could be used.
enum class Refusal {
  kFull,     ///< As many descriptors are open as may.
  kWaiting,  ///< Too many wait for their TLS handshake.
  kSlow,     ///< It was silent or slow before TLS and HTTP/2 were agreed, and others waited.
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0 picks one.
  std::string id{};        ///< Sent with every refusal, so clients know its source.
  /// A longer request is refused with RESOURCE_EXHAUSTED, by its length alone.
  std::size_t request_bytes_max = 2 << 20;
  /// Open calls, streams included. Further ones are refused with RESOURCE_EXHAUSTED.
  std::size_t calls_max = 50'000;
  /// The additional number for other servers, which forward requests of their clients.
  std::size_t calls_of_servers = 5'000;
  std::function<void()> call_refused{};
  /// Called before any answer; false if it has ended the call. Empty: every client may call.
  std::function<bool(const CallPtr&)> admit{};
  /// Limits on the bytes that clients make the server keep. A request that would exceed them is
  /// refused with RESOURCE_EXHAUSTED.
  ByteBudget::Options bytes{};
  /// Identifies the client of a connection for these limits. Empty: by host.
  std::function<Client(std::string_view certificate, const std::string& remote)> client{};
  /// Limits on open connections. One that would exceed them is told so and closed; see `cut`.
  ConnectionBudget::Options connections{};
  Anteroom::Options anteroom{};
  /// An answer that its client has not taken by then is dropped, and a connection that takes
  /// nothing for this time is closed.
  Duration taken_within = 30s;
  /// A connection of this age accepts no new calls; its calls go on, and its client reconnects.
  /// Zero: never.
  Duration connection_age_max{0};
  /// See ListenerOptions.
  int descriptors_max = 0;
  std::function<void(Refusal why, const std::string& remote)> connection_refused{};
  /// Makes the TLS of a connection; empty: plaintext.
  std::function<Result<SslPtr>()> tls{};
  /// Whether calls of a method last until they are ended. Empty: none does.
  std::function<bool(const std::string& method)> lasts{};
  /// Whether to accept a client after the handshake. Empty: the checks of `tls` suffice.
  std::function<Status(SSL*)> shaken{};
  /// A connection was closed because its client broke a rule; `certificate` is the client's.
  std::function<void(Breach breach, const std::string& remote, std::string_view certificate,
                     const std::string& why)>
      cut{};
  ConnectionOptions connection{};
};

/// The server side of gRPC: accepts connections on one address and passes every call to `on_call`,
/// within the loop. Everything that costs memory or work is bounded before it is accepted. Threads:
/// loop thread only.
class Server {
 public:
  Server(EventLoop& loop, ServerOptions options, std::function<void(CallPtr)> on_call);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Returns the port.
  [[nodiscard]] Result<std::uint16_t> start();
  /// Other limits from now on; open connections stay.
  void limit_connections(const ConnectionBudget::Options& limits, int descriptors_max);
  /// Open calls of clients, including answers not yet taken; excluding calls refused because of
  /// their number.
  [[nodiscard]] std::size_t calls() const;
  [[nodiscard]] std::size_t connections() const;
  /// For channels of the same loop: their data is sent in the same turn.
  [[nodiscard]] SendTurn& turn();

  /// Stops listening, tells clients to go elsewhere, and refuses new calls with UNAVAILABLE. Calls
  /// under way have up to `limit` for their answers; lasting ones end with UNAVAILABLE after the
  /// answers that they have written. Calls unanswered by then are UNKNOWN. Clients close their
  /// connections, so that no answer under way is lost. Then `done` is called, not within drain(),
  /// and close() may follow.
  void drain(Duration limit, std::function<void()> done);
  /// Ends every call and stops listening. No callback comes afterwards.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::rpc
