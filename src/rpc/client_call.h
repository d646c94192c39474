#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "rpc/channel.h"
#include "rpc/message_reader.h"

namespace muster::rpc {

class ClientLink;

/// A call as its channel sees it: the request, its progress, and its listener. Its owner holds it
/// by a handle; the call ends with the handle.
struct CallState : std::enable_shared_from_this<CallState> {
  CallState(Loop& on, std::size_t answer_bytes_max)
      : reader(answer_bytes_max), deadline(on), loop(on) {}

  std::string method;
  Metadata metadata;
  std::optional<MonoTime> by;
  ClientCallEvents events;

  /// All messages, until the server shows that it looks at the call, or they are too much to keep.
  std::vector<Payload> given;
  std::size_t given_bytes = 0;
  bool finished = false;   ///< No more messages will be given.
  bool left = false;       ///< The server may have seen it.
  bool looked_at = false;  ///< The server has answered with headers.
  bool again = false;      ///< It was sent once, and the server did not look at it.
  bool ended = false;
  ClientLink* link = nullptr;  ///< Null while it waits for one.
  StreamId stream = 0;
  MessageReader reader;
  std::optional<Outcome> told;  ///< From the trailers; the stream's end follows.
  Timer deadline;
  Loop& loop;

  /// Tells the owner, at once or, if this may run within a call of the owner, soon.
  void end(Outcome outcome);
  void end_soon(Outcome outcome);
};
using CallStatePtr = std::shared_ptr<CallState>;

/// One connection of a channel and the calls on it. Loop thread only.
class ClientLink final : public SessionEvents, public std::enable_shared_from_this<ClientLink> {
 public:
  struct Hooks {
    std::function<void()> ready;
    /// There may be room for another call.
    std::function<void()> room;
    /// The server did not look at this call: it may be sent again elsewhere.
    std::function<void(const CallStatePtr&)> unseen;
    std::function<void(const Error&)> ended;
  };

  ClientLink(std::string scheme, std::string authority)
      : scheme_(std::move(scheme)), authority_(std::move(authority)) {}
  ~ClientLink() override;

  void begin(std::shared_ptr<Connection> connection, Hooks hooks);
  /// The connection has ended, and with it all its calls.
  void lost(const Error& why);
  [[nodiscard]] Connection* connection() { return connection_.get(); }
  [[nodiscard]] bool takes_calls() {
    return ready_ && connection_ && connection_->session().may_open();
  }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] bool was_ready() const { return was_ready_; }
  /// Whether a call was ever begun on it.
  [[nodiscard]] bool used() const { return used_; }
  /// The server closed it before any call was begun.
  [[nodiscard]] bool turned_away() const { return gone_away_ && !used_; }
  void set_ready();
  /// No calls are left and none will come: the server goes away, or the owner wants a new
  /// connection.
  [[nodiscard]] bool spent() const { return leaving_ && calls_.empty(); }
  [[nodiscard]] bool leaving() const { return leaving_; }
  void leave() { leaving_ = true; }
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }

  void open(const CallStatePtr& call, MonoTime now);
  void send(const CallState& call, Payload message);
  void finish(const CallState& call);
  /// The call was cancelled, or its deadline has passed.
  void forget(const CallState& call);

  void on_headers(StreamId stream, const HeaderBlock& headers, bool end) override;
  void on_data(StreamId stream, std::string_view bytes) override;
  void on_trailers(StreamId stream, const HeaderBlock& trailers) override;
  void on_end(StreamId stream) override;
  void on_drained(StreamId stream) override;
  void on_closed(StreamId stream, std::uint32_t error) override;
  void on_goaway(StreamId last, std::uint32_t error) override;
  void on_pong() override {}

 private:
  [[nodiscard]] CallStatePtr find(StreamId stream) const;
  void drop(const CallStatePtr& call, std::uint32_t error, Outcome outcome);

  Hooks hooks_;
  const std::string scheme_;
  const std::string authority_;
  std::shared_ptr<Connection> connection_;
  std::map<StreamId, CallStatePtr> calls_;
  bool ready_ = false;
  bool was_ready_ = false;
  bool used_ = false;
  bool gone_away_ = false;
  bool leaving_ = false;
};

}  // namespace muster::rpc
