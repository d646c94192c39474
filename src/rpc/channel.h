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

/// How a call ended, as its caller hears it.
struct Outcome {
  /// Whose word it is. It decides what may be tried again.
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
  /// What kept a call from leaving, or that its answer is not gRPC's; otherwise of no meaning.
  Trouble trouble{};

  [[nodiscard]] bool ok() const { return code == Code::kOk; }
};

/// What comes of a call, on the loop. `end` comes last, exactly once, and never from within
/// start().
struct ClientCallEvents {
  std::function<void(std::string message)> message;
  std::function<void(const Outcome& outcome)> end;
  std::function<void()> sent{};  ///< Everything given to it so far has left here.
};

/// One call of a client. Destroying it gives the call up; nothing of it is heard afterwards, not
/// even by whoever destroys it from within one of its callbacks. Loop thread only.
class ClientCall {
 public:
  virtual ~ClientCall() = default;
  /// Queued without a bound: whoever sends much waits for `sent` now and then.
  virtual void send(Payload message) = 0;
  /// Nothing more will be sent.
  virtual void finish() = 0;
  /// Whether a server may have seen it by now. Until then giving it up undoes it.
  [[nodiscard]] virtual bool left() const = 0;
};

struct ChannelOptions {
  std::string host;  ///< A name, an address, or unix:/path of a socket.
  std::uint16_t port = 0;
  /// What the server is called in requests; host:port unless set.
  std::string authority{};
  /// Makes the TLS of a connection; empty: plaintext. Null: why is told, and the attempt has
  /// failed.
  std::function<Result<SslPtr>()> tls{};
  /// Whether the server is let in after the handshake; empty: what `tls` checks is enough.
  std::function<Status(SSL*)> shaken{};
  ConnectionOptions connection{};
  /// A longer answer ends its call.
  std::size_t answer_bytes_max = 64 << 20;
  /// After an attempt that failed, calls fail at once for so long: a random part of a time that
  /// doubles.
  Duration backoff_min = 100ms;
  Duration backoff_max = 5s;
};

/// The way to one server: connects when there is a call, to each of its addresses in turn, and
/// again when it has to. A call leaves once the server has greeted: what hangs when it is connected
/// to has seen nothing. Nothing is sent twice, unless the server has said that it did not look at
/// it. Calls outlive their channel: they end with it, kNeverLeft or kNobody. Loop thread only.
class Channel {
 public:
  Channel(EventLoop& loop, SendTurn& turn, ChannelOptions options, Random random);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// A call of `method` ("/package.Service/Method"), given up at `by`.
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
