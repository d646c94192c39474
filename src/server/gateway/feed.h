#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "platform/http/server.h"
#include "rpc/call.h"
#include "server/gateway/call_line.h"
#include "server/gateway/json_message.h"

namespace muster::server {

/// The place in a stream where a client was: a version, or a revision, of a history.
struct FeedPosition {
  std::uint64_t version = 0;  ///< 0: nowhere.
  std::string history{};      ///< Empty: not known.

  /// "12@HISTORY", or "12" alone. kInvalid if it is neither.
  [[nodiscard]] static Result<FeedPosition> parse(const std::string& text);
  [[nodiscard]] std::string text() const;
};

/// One watch of the contract as server-sent events. It asks for the next message when the client
/// has taken the last one, so a client that does not read costs one message here, and the hub of
/// the watch decides what to do with it. Threads: that of the HTTP server.
class Feed : public std::enable_shared_from_this<Feed> {
 public:
  struct Parts {
    http::ExchangePtr exchange;
    CallLine& line;  ///< Outlives the feed.
    /// Who asks, as for every call of this request.
    std::function<CallOrder(const std::string& method, const google::protobuf::Message& request)>
        order;
    /// Called with the status once the answer begins; it is 200 for a stream.
    std::function<void(http::Response head)> begin;
    /// The watch was refused before anything was sent.
    std::function<void(const rpc::RpcStatus& status)> refuse;
    FeedPosition position;
  };
  virtual ~Feed() = default;

  /// Begins the watch. The line and the client's connection keep the feed.
  void start();

 protected:
  explicit Feed(Parts parts) : parts_(std::move(parts)), position_(parts_.position) {}

  /// The call to make, from position().
  [[nodiscard]] virtual CallOrder watch() = 0;
  /// Handles one message, and calls send() once, now or later.
  virtual void handle(const rpc::Payload& message) = 0;

  /// Sends these events, perhaps none, and asks for the next message once they were taken.
  void send(std::string events);
  /// Ends the stream, also the watch.
  void end(const rpc::RpcStatus& status);
  [[nodiscard]] FeedPosition& position() { return position_; }
  [[nodiscard]] std::string event(const std::string& name, const Json& data) const;
  /// Lets the client know its position although there is nothing to tell.
  [[nodiscard]] std::string keepalive() const;
  [[nodiscard]] const Parts& parts() const { return parts_; }

 private:
  void cancel();

  Parts parts_;
  FeedPosition position_;
  std::optional<CallLine::CallId> call_;
  bool begun_ = false;
};

/// /v1/watch/nodes; `service`: as in WatchTopologyRequest.
[[nodiscard]] std::shared_ptr<Feed> node_feed(Feed::Parts parts, const std::string& service);
/// /v1/watch/elections/NAME; `key`: of its state.
[[nodiscard]] std::shared_ptr<Feed> election_feed(Feed::Parts parts, const std::string& name,
                                                  const std::string& key);

}  // namespace muster::server
