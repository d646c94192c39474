#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "core/client/rpc_status.h"

namespace muster::client {

/// One call under way. Destroying it gives the call up; nothing of it is heard afterwards, not
/// even by whoever destroys it from within one of its callbacks. Loop thread only.
class Call {
 public:
  virtual ~Call() = default;
};

/// A call on which any number of messages go either way.
class Stream : public Call {
 public:
  /// Queued without a bound, sent in order: whoever sends waits for `sent` now and then.
  virtual void send(std::string message) = 0;
  /// Nothing more will be sent.
  virtual void close() = 0;
};

/// What comes of a stream, on the loop. `end` comes last, and exactly once.
struct StreamEvents {
  std::function<void(std::string message)> message;
  std::function<void(const RpcStatus& status)> end;
  std::function<void()> sent{};  ///< Everything queued has been handed to the network.
};

/// The way to one server: connects when it is needed, and again when it has to. Calls outlive it.
/// Loop thread only.
class Connection {
 public:
  virtual ~Connection() = default;
  using UnaryDone = std::function<void(const RpcStatus& status, std::string body)>;
  /// One request and its answer; `done` is called once, soon after `by` at the latest.
  [[nodiscard]] virtual std::unique_ptr<Call> unary(const std::string& method, std::string body,
                                                    MonoTime by, UnaryDone done) = 0;
  /// Without `by` it lasts until either side ends it.
  [[nodiscard]] virtual std::unique_ptr<Stream> stream(const std::string& method,
                                                       std::optional<MonoTime> by,
                                                       StreamEvents events) = 0;
};

/// What clients need of a network. The real one is rpc_transport.h; tests have one of their own.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual Loop& loop() = 0;
  /// `server` is host:port. Never fails: an unreachable server fails its calls.
  [[nodiscard]] virtual std::unique_ptr<Connection> connect(const std::string& server) = 0;
};

}  // namespace muster::client
