#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "core/client/rpc_status.h"

namespace muster::client {

/// One call under way. Destroying it cancels the call; no event comes afterwards, not even if a
/// callback of the call destroys it. Threads: loop thread only.
class Call {
 public:
  virtual ~Call() = default;
};

/// A call with any number of messages in both directions.
class Stream : public Call {
 public:
  /// Queued without a limit, sent in order: callers should wait for `sent` now and then.
  virtual void send(std::string message) = 0;
  /// Nothing more will be sent.
  virtual void close() = 0;
};

/// The events of a stream, on the loop. `end` comes last, and exactly once.
struct StreamEvents {
  std::function<void(std::string message)> message;
  std::function<void(const RpcStatus& status)> end;
  std::function<void()> sent{};  ///< All queued messages have been given to the network.
};

/// The connection to one server: connects when needed, and again when necessary. Calls outlive it.
/// Threads: loop thread only.
class Connection {
 public:
  virtual ~Connection() = default;
  using UnaryDone = std::function<void(const RpcStatus& status, std::string body)>;
  /// Sends one request; `done` is called once, soon after `by` at the latest.
  [[nodiscard]] virtual std::unique_ptr<Call> unary(const std::string& method, std::string body,
                                                    MonoTime by, UnaryDone done) = 0;
  /// Without `by` the stream lasts until either side ends it.
  [[nodiscard]] virtual std::unique_ptr<Stream> stream(const std::string& method,
                                                       std::optional<MonoTime> by,
                                                       StreamEvents events) = 0;
};

/// The network that clients need. rpc_transport.h is the real one; tests have their own.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual Loop& loop() = 0;
  /// `server` is host:port. Never fails: an unreachable server fails its calls.
  [[nodiscard]] virtual std::unique_ptr<Connection> connect(const std::string& server) = 0;
};

}  // namespace muster::client
