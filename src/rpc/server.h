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

namespace muster::rpc {

/// Whose connection it is, for what is counted of each client.
struct Client {
  std::string name;
  ByteBudget::Whose whose = ByteBudget::Whose::kClient;
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0 picks one.
  std::string id{};        ///< Told with every refusal, so that a client knows that a server spoke.
  /// A longer request is refused with RESOURCE_EXHAUSTED, by its length alone.
  std::size_t request_bytes_max = 2 << 20;
  /// Open calls, streams included. Further ones are refused with RESOURCE_EXHAUSTED.
  std::size_t calls_max = 50'000;
  /// And so many more of other servers, who pass on what their clients ask.
  std::size_t calls_of_servers = 5'000;
  std::function<void()> call_refused{};
  /// Asked before anything is answered; false when it has ended the call. Empty: all may call.
  std::function<bool(const CallPtr&)> admit{};
  /// What clients may make the server keep. What would exceed it is refused with
  /// RESOURCE_EXHAUSTED.
  ByteBudget::Options bytes{};
  /// Who the client of a connection is, for that. Empty: whoever comes from the same host.
  std::function<Client(std::string_view certificate, const std::string& remote)> client{};
  Anteroom::Options anteroom{};
  /// An answer that its client has not taken by then is dropped, and a connection that takes
  /// nothing for so long is closed.
  Duration taken_within = 30s;
  /// A connection this old takes no new calls, and those it has go on: its client connects again.
  /// Zero: never.
  Duration connection_age_max{0};
  /// As in ListenerOptions.
  int descriptors_max = 0;
  std::function<void()> connection_refused{};
  /// Makes the TLS of a connection; empty: plaintext.
  std::function<Result<SslPtr>()> tls{};
  /// Whether calls of a method last until somebody ends them. Empty: none does.
  std::function<bool(const std::string& method)> lasts{};
  /// Whether a client is let in after the handshake. Empty: what `tls` checks is enough.
  std::function<Status(SSL*)> shaken{};
  /// A connection was cut because its client broke a rule; `certificate` is what it has shown.
  std::function<void(Breach breach, const std::string& remote, std::string_view certificate,
                     const std::string& why)>
      cut{};
  ConnectionOptions connection{};
};

/// The server's side of gRPC: accepts connections on one address and hands every call to `on_call`,
/// from within the loop. What costs memory or work is bounded before it is accepted. Loop thread
/// only.
class Server {
 public:
  Server(EventLoop& loop, ServerOptions options, std::function<void(CallPtr)> on_call);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Answers with the port.
  [[nodiscard]] Result<std::uint16_t> start();
  void set_descriptors_max(int most);
  /// Calls that clients have open, answers on their way included; those apart that were refused for
  /// being too many.
  [[nodiscard]] std::size_t calls() const;
  [[nodiscard]] std::size_t connections() const;
  /// For channels of the same loop: what they send leaves in the same turn.
  [[nodiscard]] SendTurn& turn();

  /// Listens no more, tells clients to go elsewhere, and refuses new calls with UNAVAILABLE. Calls
  /// under way have up to `limit` for their answers; those that last are ended with UNAVAILABLE
  /// behind the answers that they have written. What is not answered by then is UNKNOWN. Clients
  /// close their connections, so that nothing on its way is lost; then `done` is called, not from
  /// within drain(), and close() may follow.
  void drain(Duration limit, std::function<void()> done);
  /// Ends every call and stops listening. Nothing is called back afterwards.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::rpc
