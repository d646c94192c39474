#include "rpc/session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/check.h"

namespace muster::rpc {
namespace {

// What is received is worked through in pieces, so that a breach ends the work soon.
constexpr std::size_t kPiece = 16 * 1024;
// nghttp2 counts resets by itself, without knowing how many our clients may need.
constexpr std::uint64_t kNoLimit = 1'000'000'000;
// What GOAWAY names as the last stream when it is only a notice.
constexpr StreamId kAnyStream = std::numeric_limits<StreamId>::max();
// Marks the PING behind the notice that a server winds down: its echo says that the notice was
// heard.
constexpr std::array<std::uint8_t, 8> kWindDown = {'w', 'i', 'n', 'd', 'd', 'o', 'w', 'n'};

// nghttp2 takes names and values as if it changed them, and does not.
std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::vector<nghttp2_nv> to_nv(std::span<const Header> headers) {
  std::vector<nghttp2_nv> list;
  list.reserve(headers.size());
  for (const Header& header : headers) {
    list.push_back({bytes_of(header.name), bytes_of(header.value), header.name.size(),
                    header.value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return list;
}

/// nghttp2 refuses such things only for want of memory, or because a stream or the connection is
/// about to end, of which it tells by itself.
void must(int result) {
  MUSTER_CHECK(result != NGHTTP2_ERR_NOMEM);
}

}  // namespace

// `self` is what the session was made with.
struct Session::Calls {
  static Session& of(void* self) { return *static_cast<Session*>(self); }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    of(self).begin_headers(frame->hd.stream_id, frame->headers.cat == NGHTTP2_HCAT_REQUEST);
    return 0;
  }

  // A frame that HTTP/2 does not know: it is counted, and not looked at.
  static int unknown_frame(nghttp2_session*, void**, const nghttp2_frame_hd*, void* self) {
    of(self).empty_frame_came();
    return NGHTTP2_ERR_CANCEL;
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* self) {
    const bool goes_on = of(self).add_header(frame->hd.stream_id, text_of(name, name_size),
                                             text_of(value, value_size));
    return goes_on ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Session& self = of(user);
    const StreamId id = frame->hd.stream_id;
    const bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS) {
      self.headers_came(id, end);
    } else if (frame->hd.type == NGHTTP2_DATA) {
      self.data_frame_came(id, frame->hd.length - frame->data.padlen, end);
    } else if (frame->hd.type == NGHTTP2_RST_STREAM) {
      self.reset_came();
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
      self.goaway_came(frame->goaway.last_stream_id, frame->goaway.error_code);
    } else if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
      const auto* echo = frame->ping.opaque_data;
      const bool heard = std::equal(kWindDown.begin(), kWindDown.end(), echo);
      if (heard && std::exchange(self.winding_down_, false)) self.go_away();
      self.events_.on_pong();
      self.empty_frame_came();
    } else {
      if (frame->hd.type == NGHTTP2_SETTINGS) self.greeted_ = true;
      self.empty_frame_came();
    }
    return 0;
  }

  // What nghttp2 only mentions: that the other side begins with anything but its settings.
  static int complaint(nghttp2_session*, int code, const char*, std::size_t, void* user) {
    if (code != NGHTTP2_ERR_SETTINGS_EXPECTED) return 0;
    Session& self = of(user);
    self.dead_ = true;
    self.cut(Breach::kProtocol, "the peer's data is not HTTP/2");
    return 0;
  }

  static int data(nghttp2_session*, std::uint8_t, StreamId id, const std::uint8_t* bytes,
                  std::size_t size, void* self) {
    of(self).data_came(id, text_of(bytes, size));
    return 0;
  }

  static int closed(nghttp2_session*, StreamId id, std::uint32_t error, void* self) {
    of(self).closed(id, error);
    return 0;
  }

  static int sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Session& self = of(user);
    if (frame->hd.type == NGHTTP2_DATA) self.empty_frames_.give_back(self.now_);
    if (frame->hd.type == NGHTTP2_RST_STREAM) self.reset_sent(frame->rst_stream.error_code);
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
      self.gave_up(frame->goaway.error_code,
                   text_of(frame->goaway.opaque_data, frame->goaway.opaque_data_len));
    }
    // Now, and not with the notice: nghttp2 sends a PING before what waits already.
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.last_stream_id == kAnyStream) {
      must(nghttp2_submit_ping(self.session_, NGHTTP2_FLAG_NONE, kWindDown.data()));
    }
    const bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    const Stream* stream = self.find(frame->hd.stream_id);
    // A client that has its answer need not send more.
    if (end && self.side_ == Side::kServer && stream != nullptr && !stream->remote_ended) {
      self.reset(stream->id, NGHTTP2_NO_ERROR);
    }
    return 0;
  }

  static ssize_t read(nghttp2_session*, StreamId id, std::uint8_t* to, std::size_t room,
                      std::uint32_t* flags, nghttp2_data_source*, void* user) {
    Session& self = of(user);
    Stream* stream = self.find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (stream->was_reset) return NGHTTP2_ERR_DEFERRED;
    const std::size_t copied = stream->copy(reinterpret_cast<char*>(to), room);
    self.unsent_ -= copied;
    if (!stream->queue.empty()) return static_cast<ssize_t>(copied);
    if (copied > 0) self.drained_.push_back(id);
    if (stream->finished) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (stream->trailers.size() > 0) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        self.submit_trailers(*stream);
      }
    } else if (copied == 0) {
      stream->waits = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(copied);
  }

  static nghttp2_data_provider messages() {
    nghttp2_data_provider provider{};
    provider.read_callback = read;
    return provider;
  }
};

Session::Session(Side side, const SessionOptions& options, SessionEvents& events, MonoTime now)
    : side_(side),
      options_(options),
      events_(events),
      now_(now),
      resets_(options.resets, now),
      long_headers_(options.long_headers, now),
      empty_frames_(options.empty_frames, now) {
  nghttp2_session_callbacks* calls = nullptr;
  // Before anything was received: these fail without memory only.
  MUSTER_CHECK(nghttp2_session_callbacks_new(&calls) == 0);
  nghttp2_session_callbacks_set_on_begin_headers_callback(calls, Calls::begin_headers);
  nghttp2_session_callbacks_set_unpack_extension_callback(calls, Calls::unknown_frame);
  nghttp2_session_callbacks_set_on_header_callback(calls, Calls::header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(calls, Calls::frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, Calls::data);
  nghttp2_session_callbacks_set_on_stream_close_callback(calls, Calls::closed);
  nghttp2_session_callbacks_set_on_frame_send_callback(calls, Calls::sent);
  nghttp2_session_callbacks_set_error_callback2(calls, Calls::complaint);
  nghttp2_option* option = nullptr;
  MUSTER_CHECK(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_stream_reset_rate_limit(option, kNoLimit, kNoLimit);
  // nghttp2 says nothing of types that nobody has named.
  for (int type = NGHTTP2_CONTINUATION + 1; type <= 255; ++type) {
    nghttp2_option_set_user_recv_extension_type(option, static_cast<std::uint8_t>(type));
  }
  const bool server = side == Side::kServer;
  const auto make = server ? nghttp2_session_server_new2 : nghttp2_session_client_new2;
  // As above.
  MUSTER_CHECK(make(&session_, calls, this, option) == 0);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(calls);
  std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(options.stream_window)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(options.header_bytes_max)}};
  if (server) {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.streams_max});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  }
  must(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()));
  must(nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                             options.connection_window));
}

Session::~Session() {
  nghttp2_session_del(session_);
}

void Session::receive(std::string_view bytes, MonoTime now) {
  now_ = now;
  while (!bytes.empty() && breach_ == Breach::kNone) {
    const std::string_view piece = bytes.substr(0, kPiece);
    bytes.remove_prefix(piece.size());
    const auto taken = nghttp2_session_mem_recv(session_, bytes_of(piece), piece.size());
    if (taken < 0) {
      dead_ = true;  // What nghttp2 can put right, it answers by itself.
      cut(taken == NGHTTP2_ERR_FLOODED ? Breach::kEmptyFrames : Breach::kProtocol,
          nghttp2_strerror(static_cast<int>(taken)));
    } else if (side_ == Side::kServer && waiting() > options_.waiting_max) {
      cut(Breach::kUntaken, "it takes none of the answers to its requests");
    }
  }
}

void Session::produce(std::string& out, std::size_t most) {
  while (!dead_ && out.size() < most) {
    const std::uint8_t* bytes = nullptr;
    const auto size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) {
      dead_ = true;
      cut(Breach::kProtocol, nghttp2_strerror(static_cast<int>(size)));
    }
    if (size <= 0) break;
    out.append(text_of(bytes, static_cast<std::size_t>(size)));
  }
  for (const StreamId id : std::exchange(drained_, {})) {
    Stream* stream = find(id);
    if (stream == nullptr || stream->unsent > 0 || std::exchange(stream->drained, true)) continue;
    events_.on_drained(id);
  }
}

bool Session::wants_to_send() const {
  return !dead_ && nghttp2_session_want_write(session_) != 0;
}

bool Session::over() const {
  if (dead_ || wants_to_send()) return dead_;
  return breach_ != Breach::kNone || nghttp2_session_want_read(session_) == 0;
}

bool Session::may_open() const {
  return !gone_away_ && breach_ == Breach::kNone &&
         nghttp2_session_check_request_allowed(session_) != 0 &&
         streams_.size() <
             nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

Result<StreamId> Session::open(std::span<const Header> headers) {
  if (gone_away_ || breach_ != Breach::kNone ||
      nghttp2_session_check_request_allowed(session_) == 0) {
    return {Errc::kUnavailable, "the connection accepts no more calls"};
  }
  const std::vector<nghttp2_nv> list = to_nv(headers);
  const nghttp2_data_provider source = Calls::messages();
  const StreamId id =
      nghttp2_submit_request(session_, nullptr, list.data(), list.size(), &source, nullptr);
  if (id < 0) return {Errc::kUnavailable, nghttp2_strerror(id)};
  auto stream = std::make_unique<Stream>();
  stream->id = id;
  streams_.emplace(id, std::move(stream));
  return id;
}

void Session::respond(StreamId id, std::span<const Header> headers) {
  Stream* stream = find(id);
  if (stream == nullptr || std::exchange(stream->responded, true)) return;
  const std::vector<nghttp2_nv> list = to_nv(headers);
  const nghttp2_data_provider source = Calls::messages();
  must(nghttp2_submit_response(session_, id, list.data(), list.size(), &source));
}

void Session::send(StreamId id, Payload message) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->finished || stream->was_reset) return;
  const std::size_t before = stream->unsent;
  stream->push(std::move(message));
  unsent_ += stream->unsent - before;
  wake(*stream);
}

void Session::finish(StreamId id, std::span<const Header> trailers) {
  Stream* stream = find(id);
  if (stream == nullptr || std::exchange(stream->finished, true)) return;
  if (side_ == Side::kServer && !std::exchange(stream->responded, true)) {
    const std::vector<nghttp2_nv> list = to_nv(trailers);
    must(nghttp2_submit_response(session_, id, list.data(), list.size(), nullptr));
    return;
  }
  for (const Header& each : trailers) stream->trailers.add(each.name, each.value);
  wake(*stream);
}

void Session::submit_trailers(const Stream& stream) {
  std::vector<Header> trailers;
  for (std::size_t i = 0; i < stream.trailers.size(); ++i) trailers.push_back(stream.trailers[i]);
  const std::vector<nghttp2_nv> list = to_nv(trailers);
  must(nghttp2_submit_trailer(session_, stream.id, list.data(), list.size()));
}

void Session::reset(StreamId id, std::uint32_t error) {
  Stream* stream = find(id);
  if (stream == nullptr || std::exchange(stream->was_reset, true)) return;
  unsent_ -= stream->drop();
  must(nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, error));
}

void Session::consume(StreamId id, std::size_t bytes) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  bytes = std::min(bytes, stream->unconsumed);
  stream->unconsumed -= bytes;
  must(nghttp2_session_consume(session_, id, bytes));
}

std::size_t Session::waiting() const {
  return nghttp2_session_get_outbound_queue_size(session_);
}

std::size_t Session::unsent(StreamId id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? 0 : found->second->unsent;
}

void Session::go_away(std::uint32_t error, std::string_view why) {
  must(nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                             nghttp2_session_get_last_proc_stream_id(session_), error,
                             bytes_of(why), why.size()));
}

void Session::wind_down() {
  winding_down_ = true;
  must(nghttp2_submit_shutdown_notice(session_));
}

void Session::ping() {
  must(nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr));
}

void Session::wake(Stream& stream) {
  if (std::exchange(stream.waits, false)) must(nghttp2_session_resume_data(session_, stream.id));
}

Stream* Session::find(StreamId id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

}  // namespace muster::rpc
