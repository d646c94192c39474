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
struct Caller;
}

namespace muster::rpc {

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
  /// The certificate (PEM) that the client has shown and proved to hold; empty in plaintext.
  [[nodiscard]] virtual std::string_view certificate() const = 0;
  /// The host it comes from, without a port.
  [[nodiscard]] virtual std::string remote() const = 0;
  /// Calls with the same number share a connection.
  [[nodiscard]] virtual std::uint64_t connection() const { return 0; }
  /// What the client sent beside the message under this name; empty when nothing.
  [[nodiscard]] virtual std::string metadata(const std::string&) const { return {}; }
  /// The client is gone, or the call has ended: nothing reaches it any more.
  [[nodiscard]] virtual bool over() const = 0;

  /// The next message; none when the client will send no more.
  virtual void read(std::function<void(std::optional<std::string>)> done) = 0;
  /// The only message, once the client has ended its side: a call that has more of them ends with
  /// INTERNAL instead. None when there is none.
  virtual void read_single(std::function<void(std::optional<std::string>)> done) {
    read(std::move(done));
  }
  virtual void write(Payload message, std::function<void()> done) = 0;
  /// The same for a message that another write follows at once: it may leave with that one.
  virtual void write_ahead(Payload message, std::function<void()> done) {
    write(std::move(message), std::move(done));
  }
  virtual void finish(RpcStatus status) = 0;
  /// The same, for a call that there is no place for: it counts as none.
  virtual void turn_away(RpcStatus status) { finish(std::move(status)); }
  /// Writes the last message and finishes with OK.
  virtual void reply(Payload message) = 0;
  /// Called once, when the call is over in any way. Replaces one set before.
  virtual void on_over(std::function<void()> over) = 0;
  /// Ends it without waiting for the client to take what was written: it hears CANCELLED. It is
  /// over then.
  virtual void cut() = 0;

  /// Who is calling, once whoever guards this server has found out; null before.
  [[nodiscard]] server::Caller* caller() const { return caller_.get(); }
  void set_caller(std::shared_ptr<server::Caller> caller) { caller_ = std::move(caller); }
  /// Called once with how the call ended: the status it was finished with, or CANCELLED when the
  /// client went first. All of them are called, in the order of their coming.
  void on_ended(std::function<void(const RpcStatus&)> ended) {
    on_ended_.push_back(std::move(ended));
  }
  /// Called once nothing of the call is left here, answers on their way included: a client decides
  /// when it takes them. All of them are called, after those of on_ended().
  void on_gone(std::function<void()> gone) { on_gone_.push_back(std::move(gone)); }

 protected:
  void tell_ended(const RpcStatus& status) {
    for (const auto& each : std::exchange(on_ended_, {})) each(status);
  }
  void tell_gone() {
    for (const auto& each : std::exchange(on_gone_, {})) each();
  }

 private:
  std::shared_ptr<server::Caller> caller_;
  std::vector<std::function<void(const RpcStatus&)>> on_ended_;
  std::vector<std::function<void()>> on_gone_;
};

using CallPtr = std::shared_ptr<Call>;

/// Metadata of our own. Another server passes the call on; a server refuses, and which; whom to ask
/// instead; another process has the node's place; when to ask again, in seconds.
inline constexpr const char* kForwardedKey = "muster-forwarded";
inline constexpr const char* kServerKey = "muster-server";
inline constexpr const char* kLeaderKey = "leader-address";
inline constexpr const char* kReplacedKey = "node-replaced";
inline constexpr const char* kRetryKey = "retry-after";
/// Names a client's request from its sender to the entry of the log that it led to.
inline constexpr const char* kRequestIdKey = "muster-request-id";
/// Who sent a request that another server has passed on.
inline constexpr const char* kCallerKey = "muster-caller";

}  // namespace muster::rpc
