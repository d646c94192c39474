#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/limits/token_bucket.h"
#include "rpc/breach.h"
#include "rpc/headers.h"
#include "rpc/payload.h"
#include "rpc/stream.h"

struct nghttp2_session;

namespace muster::rpc {

struct SessionOptions {
  /// Streams that the peer may have open.
  std::uint32_t streams_max = 1'000;
  /// Of one block of headers, as HTTP/2 counts. A longer one ends its stream.
  std::size_t header_bytes_max = 8 * 1024;
  /// Bytes that the peer may send before any is consumed: on one stream, and on all.
  std::int32_t stream_window = 1 << 20;
  std::int32_t connection_window = 4 << 20;
  /// How often streams may be reset, by either side because of the peer.
  Rate resets{.per_minute = 12'000, .burst = 2'000};
  /// How often headers may be too long: the rest of them is read all the same.
  Rate long_headers{.per_minute = 600, .burst = 100};
  /// How many frames without content may come; each frame with data, in either direction, allows
  /// one more.
  Rate empty_frames{.per_minute = 30'000, .burst = 5'000};
  /// Frames that wait to be sent, except for messages.
  std::size_t waiting_max = 4'096;
};

/// The events of a session for its owner, within receive() and produce(). The owner may send,
/// consume and reset in them, but must not destroy the session, receive or produce.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  /// Headers of a request from a client, or of an answer. `end`: nothing follows.
  virtual void on_headers(StreamId stream, const HeaderBlock& headers, bool end) = 0;
  /// Data, to be consume()d after processing: until then it counts against the window.
  virtual void on_data(StreamId stream, std::string_view bytes) = 0;
  /// Always followed by on_end().
  virtual void on_trailers(StreamId stream, const HeaderBlock& trailers) = 0;
  /// The peer sends no more on this stream. Not called if on_headers() said so.
  virtual void on_end(StreamId stream) = 0;
  /// All data of this stream has been sent.
  virtual void on_drained(StreamId stream) = 0;
  /// The last event of this stream. 0: a regular end; otherwise HTTP/2's error code.
  virtual void on_closed(StreamId stream, std::uint32_t error) = 0;
  /// The peer accepts no new streams, and has seen none after `last`.
  virtual void on_goaway(StreamId last, std::uint32_t error) = 0;
  virtual void on_pong() = 0;
};

/// Either side of one HTTP/2 connection as gRPC uses it: bytes in, bytes out, without a socket or a
/// clock. libnghttp2 handles the frames. This class adds streams of messages, windows that open
/// only as fast as data is consumed, and limits on frames that cost work or memory without content.
/// Pure. Threads: one.
class Session {
 public:
  enum class Side { kClient, kServer };

  Session(Side side, const SessionOptions& options, SessionEvents& events, MonoTime now);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Data from the peer. After a breach the rest is ignored: produce() still tells the peer why,
  /// and then the connection must be closed.
  void receive(std::string_view bytes, MonoTime now);
  /// Appends data to be sent, until `out` holds `most` bytes or a frame more.
  void produce(std::string& out, std::size_t most);
  [[nodiscard]] bool wants_to_send() const;
  /// No more data can come or go.
  [[nodiscard]] bool over() const;
  /// The peer speaks HTTP/2: its settings, which come first, have arrived.
  [[nodiscard]] bool greeted() const { return greeted_; }
  [[nodiscard]] Breach breach() const { return breach_; }
  /// For the log: the limit, or the error. Empty without a breach.
  [[nodiscard]] const std::string& breach_message() const { return breach_message_; }

  /// Client: opens a stream with these headers. kUnavailable: the session can open no more.
  [[nodiscard]] Result<StreamId> open(std::span<const Header> headers);
  /// Client: whether the peer accepts another stream now. Otherwise it would wait here.
  [[nodiscard]] bool may_open() const;
  /// Server: the headers of the answer, once.
  void respond(StreamId stream, std::span<const Header> headers);
  /// Sends one message, after those before it, with gRPC's prefix. Server: after respond().
  void send(StreamId stream, Payload message);
  /// Client: sends no more on this stream.
  void finish(StreamId stream) { finish(stream, {}); }
  /// Server: these trailers after all messages. Without respond() they are the only
  /// headers.
  void finish(StreamId stream, std::span<const Header> trailers);
  /// Ends it with HTTP/2's error code and drops its unsent data; on_closed() follows as soon as the
  /// peer can be told. Unknown streams are ignored, here and above.
  void reset(StreamId stream, std::uint32_t error);
  /// The number of bytes of on_data() that were processed.
  void consume(StreamId stream, std::size_t bytes);
  /// Bytes of messages that wait to be sent, of one stream and of all.
  [[nodiscard]] std::size_t unsent(StreamId stream) const;
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  [[nodiscard]] std::size_t streams() const { return streams_.size(); }
  /// Frames that wait to be sent, except for messages.
  [[nodiscard]] std::size_t waiting() const;

  /// Accepts no new streams; open ones go on. `error` is HTTP/2's.
  void go_away(std::uint32_t error = 0, std::string_view why = {});
  /// Server: asks the peer to open no more streams. It goes away when the peer has confirmed that,
  /// so streams opened in the meantime are served and no call is lost.
  void wind_down();
  void ping();
  /// Ends the connection because of the peer, as after a breach found here.
  void give_up_on(Breach breach, const std::string& why) { cut(breach, why); }

 private:
  struct Calls;  ///< The callbacks of nghttp2.

  void begin_headers(StreamId id, bool request);
  /// False if the stream must not be read on.
  [[nodiscard]] bool add_header(StreamId id, std::string_view name, std::string_view value);
  void headers_came(StreamId id, bool end);
  void data_came(StreamId id, std::string_view bytes);
  void data_frame_came(StreamId id, std::size_t size, bool end);
  void reset_came();
  void reset_sent(std::uint32_t error);
  /// nghttp2 ends the connection because of the peer's data.
  void gave_up(std::uint32_t error, std::string_view why);
  void goaway_came(StreamId last, std::uint32_t error);
  void empty_frame_came();
  void closed(StreamId id, std::uint32_t error);
  void submit_trailers(const Stream& stream);
  void wake(Stream& stream);
  /// Tells the peer, and reads no more from it.
  void cut(Breach breach, const std::string& why);
  [[nodiscard]] Stream* find(StreamId id);

  const Side side_;
  const SessionOptions options_;
  SessionEvents& events_;
  MonoTime now_;
  TokenBucket resets_;
  TokenBucket long_headers_;
  TokenBucket empty_frames_;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<StreamId, std::unique_ptr<Stream>> streams_;
  std::vector<StreamId> drained_;
  std::size_t unsent_ = 0;
  bool greeted_ = false;
  bool gone_away_ = false;  ///< The peer has.
  bool winding_down_ = false;
  bool dead_ = false;  ///< Nothing more can be sent.
  Breach breach_ = Breach::kNone;
  std::string breach_message_;
};

}  // namespace muster::rpc
