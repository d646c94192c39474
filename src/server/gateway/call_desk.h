#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/loop.h"
#include "rpc/call.h"

namespace muster::server {

/// A call of a gRPC method that an HTTP client asks for.
struct CallOrder {
  std::string method;       ///< "/package.Service/Method"
  std::string request;      ///< Its only message.
  std::string certificate;  ///< PEM; empty in plaintext.
  std::string remote;       ///< The host of the client.
  std::string request_id;   ///< As in rpc::kRequestIdKey; may be empty.
  /// The call ends with DEADLINE_EXCEEDED after this time; 0: never, for a watch.
  Duration patience{0};
};

/// Makes the calls of HTTP clients. Each passes the same access control and the same services as a
/// call that came over gRPC: a service cannot tell the two apart. Threads: loop thread only.
class CallDesk {
 public:
  using CallId = std::uint64_t;
  struct Outlet {
    /// One message of the answer. The next one comes after take().
    std::function<void(CallId id, rpc::Payload message)> message;
    /// The call has ended; nothing follows.
    std::function<void(CallId id, rpc::RpcStatus status)> ended;
  };
  /// `serve` takes every call, checks the caller, and answers.
  CallDesk(Loop& loop, std::function<void(const rpc::CallPtr&)> serve)
      : loop_(loop), serve_(std::move(serve)), drained_timer_(loop) {}
  /// Ends every call; the outlet hears of none of them.
  ~CallDesk();
  CallDesk(const CallDesk&) = delete;
  CallDesk& operator=(const CallDesk&) = delete;

  /// Where answers go, before the first call.
  void connect(Outlet outlet) { outlet_ = std::move(outlet); }
  /// `id` is of no open call.
  void begin(CallId id, CallOrder order);
  /// The client has taken the last message.
  void take(CallId id);
  /// The client is gone.
  void cancel(CallId id);
  /// Calls `done` once, later, when no call is open, or after `limit`.
  void drain(Duration limit, std::function<void()> done);

  [[nodiscard]] std::size_t calls() const { return calls_.size(); }
  [[nodiscard]] Loop& loop() { return loop_; }
  /// Expires with the desk. Other threads may hold it, and look at it on the loop.
  [[nodiscard]] std::weak_ptr<int> alive() const { return lifetime_.token(); }

 private:
  class DeskCall;
  /// None of these calls anything back.
  void message(CallId id, rpc::Payload bytes);
  void ended(CallId id, rpc::RpcStatus status);
  [[nodiscard]] std::shared_ptr<DeskCall> find(CallId id) const;
  void forget(CallId id);

  Loop& loop_;
  const std::function<void(const rpc::CallPtr&)> serve_;
  Outlet outlet_;
  std::function<void()> drained_;
  Timer drained_timer_;
  std::unordered_map<CallId, std::shared_ptr<DeskCall>> calls_;
  Lifetime lifetime_;
};

}  // namespace muster::server
