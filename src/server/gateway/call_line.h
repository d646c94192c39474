#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/loop.h"
#include "rpc/call.h"
#include "server/gateway/call_desk.h"

namespace muster::server {

/// The line from the HTTP thread to the call desk on the server's loop. Nothing of HTTP crosses it,
/// only messages. Threads: that of the HTTP server.
class CallLine : public std::enable_shared_from_this<CallLine> {
 public:
  using CallId = CallDesk::CallId;
  using Answered = std::function<void(const rpc::RpcStatus& status, const rpc::Payload& answer)>;
  struct Listener {
    /// One message. The next one comes after take().
    std::function<void(const rpc::Payload& message)> message;
    std::function<void(const rpc::RpcStatus& status)> ended;
  };

  /// `here` is the HTTP server's loop. `desk` may end first: calls then stay unanswered.
  CallLine(Loop& here, CallDesk& desk)
      : here_(here), there_(desk.loop()), desk_(&desk), alive_(desk.alive()) {}

  /// Makes a unary call. `answered` gets the answer, or null with the reason.
  CallId call(CallOrder order, Answered answered);
  /// Makes a call whose answer is a stream.
  CallId watch(CallOrder order, Listener listener);
  void take(CallId id);
  /// The listener hears no more of it.
  void cancel(CallId id);

  /// Where the desk, on its thread, is to send what it has for this line.
  [[nodiscard]] CallDesk::Outlet outlet();

 private:
  void message(CallId id, const rpc::Payload& bytes);
  void ended(CallId id, const rpc::RpcStatus& status);
  /// Runs `task` on the desk's loop if the desk is still there.
  void at_desk(std::function<void(CallDesk&)> task);

  Loop& here_;
  Loop& there_;
  CallDesk* const desk_;  ///< Only on its own loop, and while it is alive.
  const std::weak_ptr<int> alive_;
  CallId last_ = 0;
  std::unordered_map<CallId, Listener> listeners_;
};

}  // namespace muster::server
