#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "rpc/headers.h"
#include "rpc/payload.h"
#include "rpc/status.h"

namespace muster::server {
struct CallOrigin;
}

namespace muster::rpc {

/// One call of a client, unary or streaming; they differ only in the number of messages. At most
/// one read and one write are under way at a time, and exactly one of finish() and reply() ends
/// every call. Callbacks run on the loop; none comes after that of on_over(). Threads: loop thread
/// only.
class Call {
 public:
  virtual ~Call() = default;

  /// "/package.Service/Method"
  [[nodiscard]] virtual const std::string& method() const = 0;
  /// Until the client gives up; long if it named no deadline.
  [[nodiscard]] virtual Duration time_left() const = 0;
  /// Another server has forwarded this call; it must not be forwarded again.
  [[nodiscard]] virtual bool forwarded() const = 0;
  /// The certificate (PEM) that the client has proved to hold; empty in plaintext.
  [[nodiscard]] virtual std::string_view certificate() const = 0;
  /// The host of the client, without a port.
  [[nodiscard]] virtual std::string remote() const = 0;
  /// Calls with the same number share a connection.
  [[nodiscard]] virtual std::uint64_t connection() const { return 0; }
  /// The client's metadata with this name; empty if there is none.
  [[nodiscard]] virtual std::string metadata(const std::string&) const { return {}; }
  /// The client has disconnected, or the call has ended: nothing reaches the client any more.
  [[nodiscard]] virtual bool over() const = 0;

  /// Reads the next message; none if the client will send no more.
  virtual void read(std::function<void(std::optional<std::string>)> done) = 0;
  /// Reads the only message, once the client has finished sending: a call with several messages
  /// ends with INTERNAL. None if there is none.
  virtual void read_single(std::function<void(std::optional<std::string>)> done) {
    read(std::move(done));
  }
  virtual void write(Payload message, std::function<void()> done) = 0;
  /// Like write(), for a message that another write follows at once: both may leave together.
  virtual void write_ahead(Payload message, std::function<void()> done) {
    write(std::move(message), std::move(done));
  }
  virtual void finish(RpcStatus status) = 0;
  /// Like finish(), for a call that exceeds the limit: it is not counted.
  virtual void turn_away(RpcStatus status) { finish(std::move(status)); }
  /// Writes the last message and finishes with OK.
  virtual void reply(Payload message) = 0;
  /// Called once, when the call is over in any way. Replaces one set before.
  virtual void on_over(std::function<void()> over) = 0;
  /// Ends the call without waiting for the client to take its messages: the client gets CANCELLED,
  /// and the call is over.
  virtual void cut() = 0;

  /// The caller, once the server's access control has identified it; null before.
  [[nodiscard]] server::CallOrigin* caller() const { return caller_.get(); }
  void set_caller(std::shared_ptr<server::CallOrigin> caller) { caller_ = std::move(caller); }
  /// Calls `ended` once with the outcome: the status of finish(), or CANCELLED if the client went
  /// first. All callbacks are called, in order.
  void on_ended(std::function<void(const RpcStatus&)> ended) {
    on_ended_.push_back(std::move(ended));
  }
  /// Calls `gone` once when nothing of the call is left here, answers included: the client decides
  /// when it takes them. All callbacks are called, after those of on_ended().
  void on_gone(std::function<void()> gone) { on_gone_.push_back(std::move(gone)); }

 protected:
  void tell_ended(const RpcStatus& status) {
    for (const auto& each : std::exchange(on_ended_, {})) each(status);
  }
  void tell_gone() {
    for (const auto& each : std::exchange(on_gone_, {})) each();
  }

 private:
  std::shared_ptr<server::CallOrigin> caller_;
  std::vector<std::function<void(const RpcStatus&)>> on_ended_;
  std::vector<std::function<void()>> on_gone_;
};

using CallPtr = std::shared_ptr<Call>;

/// Muster's own metadata: another server forwards the call; the id of the server that refuses; the
/// server to ask instead; another process has the node's id; when to retry, in seconds.
inline constexpr const char* kForwardedKey = "muster-forwarded";
inline constexpr const char* kServerKey = "muster-server";
inline constexpr const char* kLeaderKey = "leader-address";
inline constexpr const char* kReplacedKey = "node-replaced";
inline constexpr const char* kRetryKey = "retry-after";
/// Identifies a client's request from its sender to the log entry that it led to.
inline constexpr const char* kRequestIdKey = "muster-request-id";
/// The sender of a request that another server has forwarded.
inline constexpr const char* kCallerKey = "muster-caller";

}  // namespace muster::rpc
