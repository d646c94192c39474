#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/http/message.h"

namespace muster::http {

/// One request that waits for its answer. Dropped unanswered, its connection is closed.
/// Loop thread only.
class Exchange {
 public:
  virtual ~Exchange() = default;

  [[nodiscard]] virtual const Request& request() const = 0;
  /// The whole answer. Nothing follows.
  virtual void reply(Response response) = 0;
  /// Begins an answer without an end: write() goes on until over().
  virtual void stream(Response head) = 0;
  /// A reader that is so far behind that ServerOptions::unsent_bytes_max would be exceeded is cut
  /// off: it connects again and says where it was.
  virtual void write(const Body& bytes) = 0;
  /// Ends a stream once the client has taken what was written.
  virtual void end() = 0;
  /// Calls `taken` once, later, when nothing that was written is left here: at once if there is
  /// nothing. Replaces one set before.
  virtual void on_taken(std::function<void()> taken) = 0;
  /// Calls `gone` once, later, when the connection has closed before the answer was complete, or
  /// the client has hung up: it sends no more, and is gone or waits for its answer.
  virtual void on_gone(std::function<void()> gone) = 0;
  /// The client is gone, or has its answer.
  [[nodiscard]] virtual bool over() const = 0;
};
using ExchangePtr = std::shared_ptr<Exchange>;

/// Shared with OpenSSL's own count of references.
using TlsContext = std::shared_ptr<SSL_CTX>;

struct ServerOptions {
  std::string host = "127.0.0.1";  ///< As in ListenerOptions.
  std::uint16_t port = 0;          ///< 0 picks one.
  /// Asked for each new connection, so that reloaded certificates count at once; empty: plaintext.
  std::function<TlsContext()> tls{};
  /// A further one takes the place of one that waits for its client: the longest idle between
  /// requests, or else the oldest whose request has not come. It waits while all are answered.
  std::size_t connections_max = 256;
  Duration head_timeout = 10s;  ///< From the first byte of a request to its last.
  Duration idle_timeout = 60s;  ///< Without a request, and for a client that does not read.
  std::size_t unsent_bytes_max = 8 * 1024 * 1024;
  RequestRules rules{};
  /// The answer to a request that is refused before it is complete; empty: refusal().
  std::function<Response(const RefusedRequest&)> refuse{};
};

/// Answers requests over HTTP/1.1, with TLS or without, all connections on one loop: an open
/// stream costs a descriptor and what it has not read, not a thread. Everything that a client can
/// make it hold is bounded: connections, heads, unsent bytes, time.
///
/// Handlers are called on the loop and answer when they can. Loop thread only.
class Server {
 public:
  using Handler = std::function<void(ExchangePtr)>;

  Server(EventLoop& loop, ServerOptions options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Answers with the port. With TLS, SIGPIPE is ignored in this process from now on.
  [[nodiscard]] Result<std::uint16_t> start();
  [[nodiscard]] std::size_t connections() const;
  /// Ends every connection. Nothing is handed to the handler afterwards.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::http
