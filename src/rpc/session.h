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
  /// Streams that the other side may have open.
  std::uint32_t streams_max = 1'000;
  /// Of one block of headers, as HTTP/2 counts them. A longer one ends its stream.
  std::size_t header_bytes_max = 8 * 1024;
  /// What the other side may send before any of it was consumed: on one stream, and on all.
  std::int32_t stream_window = 1 << 20;
  std::int32_t connection_window = 4 << 20;
  /// How often streams may be reset, by either side for what the other did.
  Rate resets{.per_minute = 12'000, .burst = 2'000};
  /// How often headers may be too long: their rest is read all the same.
  Rate long_headers{.per_minute = 600, .burst = 100};
  /// How many frames that carry nothing may come; each frame with data, either way, allows one
  /// more.
  Rate empty_frames{.per_minute = 30'000, .burst = 5'000};
  /// Frames that wait here to leave, those of messages apart.
  std::size_t waiting_max = 4'096;
};

/// What a session tells its owner, from within receive() and produce(). The owner may send, consume
/// and reset from within, and must not destroy the session, receive or produce.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  /// Of a request that a client opens, or of the answer to one. `end`: nothing follows.
  virtual void on_headers(StreamId stream, const HeaderBlock& headers, bool end) = 0;
  /// To be consume()d once it was dealt with: until then it counts against the window.
  virtual void on_data(StreamId stream, std::string_view bytes) = 0;
  /// Always followed by on_end().
  virtual void on_trailers(StreamId stream, const HeaderBlock& trailers) = 0;
  /// The other side sends no more on this stream. Not told when on_headers() said so.
  virtual void on_end(StreamId stream) = 0;
  /// All that was sent on this stream has left here.
  virtual void on_drained(StreamId stream) = 0;
  /// The last of this stream. 0: it ended as it should; otherwise HTTP/2's error code.
  virtual void on_closed(StreamId stream, std::uint32_t error) = 0;
  /// The other side takes no new streams, and has not seen any after `last`.
  virtual void on_goaway(StreamId last, std::uint32_t error) = 0;
  virtual void on_pong() = 0;
};

/// One HTTP/2 connection, either side of it, as gRPC uses it: bytes in, bytes out, no socket and no
/// clock. Frames are libnghttp2's; here are streams of messages, windows that open only as fast as
/// somebody consumes, and bounds on what costs work or memory and carries nothing. Pure; one
/// thread.
class Session {
 public:
  enum class Side { kClient, kServer };

  Session(Side side, const SessionOptions& options, SessionEvents& events, MonoTime now);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// What came from the other side. After a breach the rest is ignored: what produce() still makes
  /// tells the other side why, and then the connection is to be closed.
  void receive(std::string_view bytes, MonoTime now);
  /// Appends what is to be sent, until `out` holds `most` bytes or a frame more.
  void produce(std::string& out, std::size_t most);
  [[nodiscard]] bool wants_to_send() const;
  /// Nothing more can come or go.
  [[nodiscard]] bool over() const;
  /// The other side speaks HTTP/2: its settings, with which it begins, have come.
  [[nodiscard]] bool greeted() const { return greeted_; }
  [[nodiscard]] Breach breach() const { return breach_; }
  /// In words, for the log: which limit, or what was wrong. Empty without a breach.
  [[nodiscard]] const std::string& breach_message() const { return breach_message_; }

  /// Client: opens a stream with these headers. kUnavailable: no more can be opened here.
  [[nodiscard]] Result<StreamId> open(std::span<const Header> headers);
  /// Client: whether the other side takes one more stream now. Others would wait here.
  [[nodiscard]] bool may_open() const;
  /// Server: the headers of the answer, once.
  void respond(StreamId stream, std::span<const Header> headers);
  /// One message, behind those before it, with gRPC's prefix. Server: after respond().
  void send(StreamId stream, Payload message);
  /// Client: sends no more on this stream.
  void finish(StreamId stream) { finish(stream, {}); }
  /// Server: these trailers behind all messages. Without respond() they are headers and all there
  /// is.
  void finish(StreamId stream, std::span<const Header> trailers);
  /// Ends it with HTTP/2's error code, and drops what waits to leave on it; on_closed() follows as
  /// soon as the other side can be told. Unknown streams are ignored, here and above.
  void reset(StreamId stream, std::uint32_t error);
  /// So many bytes of on_data() were dealt with.
  void consume(StreamId stream, std::size_t bytes);
  /// Bytes of messages that wait here to leave, of one stream and of all.
  [[nodiscard]] std::size_t unsent(StreamId stream) const;
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  [[nodiscard]] std::size_t streams() const { return streams_.size(); }
  /// Frames that wait here to leave, those of messages apart.
  [[nodiscard]] std::size_t waiting() const;

  /// Takes no new streams; those that are open go on. `error` is HTTP/2's.
  void go_away(std::uint32_t error = 0, std::string_view why = {});
  /// Server: asks the other side to open no more streams. It goes away when that was heard, so that
  /// streams opened in the meantime are served and no call is lost.
  void wind_down();
  void ping();
  /// Ends the connection for what the other side does, as after a breach that was found here.
  void give_up_on(Breach breach, const std::string& why) { cut(breach, why); }

 private:
  struct Calls;  ///< What nghttp2 calls.

  void begin_headers(StreamId id, bool request);
  /// False when the stream is not to be read on.
  [[nodiscard]] bool add_header(StreamId id, std::string_view name, std::string_view value);
  void headers_came(StreamId id, bool end);
  void data_came(StreamId id, std::string_view bytes);
  void data_frame_came(StreamId id, std::size_t size, bool end);
  void reset_came();
  void reset_sent(std::uint32_t error);
  /// nghttp2 ends the connection for what the other side has sent.
  void gave_up(std::uint32_t error, std::string_view why);
  void goaway_came(StreamId last, std::uint32_t error);
  void empty_frame_came();
  void closed(StreamId id, std::uint32_t error);
  void submit_trailers(const Stream& stream);
  void wake(Stream& stream);
  /// The other side is told, and nothing more of it is read.
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
  bool gone_away_ = false;  ///< The other side has.
  bool winding_down_ = false;
  bool dead_ = false;  ///< Nothing more can be sent.
  Breach breach_ = Breach::kNone;
  std::string breach_message_;
};

}  // namespace muster::rpc
