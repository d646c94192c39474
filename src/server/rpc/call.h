#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "server/rpc/status.h"

namespace muster::rpc {

/// The bytes of one message. Shared, so that what is sent to many is made once.
using Payload = std::shared_ptr<const std::string>;
[[nodiscard]] inline Payload payload(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

/// One call of a client, unary or streaming; they differ only in how many messages are read and
/// written. At most one read and one write are under way at a time, and every call is ended by
/// exactly one of finish() and reply(). Callbacks come on the loop and none comes after on_over's.
/// Loop thread only.
class Call {
 public:
  virtual ~Call() = default;

  /// "/package.Service/Method"
  [[nodiscard]] virtual const std::string& method() const = 0;
  /// Until the client gives up; long when it named no deadline.
  [[nodiscard]] virtual Duration time_left() const = 0;
  /// Another server has passed this call on; it is not to be passed on again.
  [[nodiscard]] virtual bool forwarded() const = 0;
  /// The client is gone, or the call has ended: nothing reaches it any more.
  [[nodiscard]] virtual bool over() const = 0;

  /// The next message; none when the client will send no more.
  virtual void read(std::function<void(std::optional<std::string>)> done) = 0;
  virtual void write(Payload message, std::function<void()> done) = 0;
  /// The same for a message that another write follows at once: it may leave with that one.
  virtual void write_ahead(Payload message, std::function<void()> done) {
    write(std::move(message), std::move(done));
  }
  virtual void finish(RpcStatus status) = 0;
  /// Writes the last message and finishes with OK.
  virtual void reply(Payload message) = 0;
  /// Called once, when the call is over in any way. Replaces one set before.
  virtual void on_over(std::function<void()> over) = 0;
};

using CallPtr = std::shared_ptr<Call>;

}  // namespace muster::rpc
