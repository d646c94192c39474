#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/resolver.h"
#include "rpc/code.h"
#include "rpc/connection.h"
#include "rpc/headers.h"
#include "rpc/payload.h"
#include "rpc/trouble.h"

namespace muster::rpc {

/// The outcome of a call for its caller.
struct Outcome {
  /// The source of the outcome, which decides what may be retried.
  enum class Word {
    kServer,     ///< A server has answered with this code.
    kNobody,     ///< The connection broke or the time was over: the server may have done what was
                 ///< asked.
    kNeverLeft,  ///< No server has seen it.
  };
  Code code = Code::kOk;
  std::string message{};
  Word word = Word::kServer;
  HeaderBlock trailers{};
  /// Why a call was never sent, or why its answer is not gRPC; otherwise without meaning.
  Trouble trouble{};

  [[nodiscard]] bool ok() const { return code == Code::kOk; }
};

/// The events of a call, on the loop. `end` comes last, exactly once, and never within
/// start().
struct ClientCallEvents {
  std::function<void(std::string message)> message;
  std::function<void(const Outcome& outcome)> end;
  std::function<void()> sent{};  ///< All messages so far have been sent.
};

/// One call of a client. Destroying it cancels the call; no event comes afterwards, not even if a
/// callback of the call destroys it. Threads: loop thread only.
class ClientCall {
 public:
  virtual ~ClientCall() = default;
  /// Queued without a limit: callers that send much should wait for `sent` now and then.
  virtual void send(Payload message) = 0;
  /// Nothing more will be sent.
  virtual void finish() = 0;
  /// Whether a server may have seen the call. Until then, destroying it undoes it.
  [[nodiscard]] virtual bool left() const = 0;
};

struct ChannelOptions {
  std::string host;  ///< A name, an address, or unix:/path of a socket.
  std::uint16_t port = 0;
  /// The server's name in requests (default: host:port).
  std::string authority{};
  /// Makes the TLS of a connection; empty: plaintext. An error is reported, and the attempt
  /// fails.
  std::function<Result<SslPtr>()> tls{};
  /// Whether to accept the server after the handshake; empty: the checks of `tls` suffice.
  std::function<Status(SSL*)> shaken{};
  ConnectionOptions connection{};
  /// A longer answer ends its call.
  std::size_t answer_bytes_max = 64 << 20;
  /// After a failed attempt, calls fail at once for this time: a random part of a time that
  /// doubles.
  Duration backoff_min = 100ms;
  Duration backoff_max = 5s;
};

/// The connection to one server. It connects when there is a call, to each address in turn, and
/// again when necessary. A call is sent only after the server has greeted: one that hangs before
/// has seen nothing. Nothing is sent twice unless the server said that it did not look at it. Calls
/// outlive their channel: they end with it, kNeverLeft or kNobody. Loop thread only.
class Channel {
 public:
  Channel(EventLoop& loop, SendTurn& turn, ChannelOptions options, Random random);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Starts a call of `method` ("/package.Service/Method") with the deadline `by`.
  [[nodiscard]] std::unique_ptr<ClientCall> start(const std::string& method,
                                                  std::optional<MonoTime> by, Metadata metadata,
                                                  ClientCallEvents events);
  /// The next call gets a new connection; calls under way keep theirs.
  void renew();
  [[nodiscard]] bool connected() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster::rpc
