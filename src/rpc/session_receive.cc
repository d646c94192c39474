// What a session does with the frames that come.
#include <nghttp2/nghttp2.h>

#include <utility>

#include "rpc/session.h"

namespace muster::rpc {
namespace {

// Headers so many times too long are no mistake.
constexpr std::size_t kFarTooLong = 4;

}  // namespace

void Session::begin_headers(StreamId id, bool request) {
  if (request && side_ == Side::kServer) {
    auto stream = std::make_unique<Stream>();
    stream->id = id;
    streams_.emplace(id, std::move(stream));
  }
  if (Stream* stream = find(id)) stream->block = {};
}

bool Session::add_header(StreamId id, std::string_view name, std::string_view value) {
  Stream* stream = find(id);
  if (stream == nullptr) return true;
  const std::size_t size = stream->block.bytes() + name.size() + value.size() + 32;
  if (size <= options_.header_bytes_max) {
    stream->block.add(name, value);
    return true;
  }
  stream->too_long = true;
  const std::string most = std::to_string(options_.header_bytes_max) + " bytes";
  if (size > kFarTooLong * options_.header_bytes_max) {
    cut(Breach::kHeaders, "headers of far more than " + most);
  } else if (!long_headers_.try_take(now_)) {
    cut(Breach::kHeaders, "headers of more than " + most + ", again and again");
  }
  reset(id, NGHTTP2_ENHANCE_YOUR_CALM);
  return false;
}

void Session::headers_came(StreamId id, bool end) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->too_long) return;
  // "100 Continue" and the like say nothing.
  if (side_ == Side::kClient && !end && stream->block.find(":status").starts_with('1')) return;
  stream->remote_ended = end;
  const HeaderBlock block = std::exchange(stream->block, {});
  if (!std::exchange(stream->headers_came, true)) return events_.on_headers(id, block, end);
  events_.on_trailers(id, block);
  if (find(id) != nullptr) events_.on_end(id);
}

void Session::data_came(StreamId id, std::string_view bytes) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->unconsumed += bytes.size();
  events_.on_data(id, bytes);
}

void Session::data_frame_came(StreamId id, std::size_t size, bool end) {
  if (size > 0) empty_frames_.give_back(now_);
  if (size == 0 && !end) empty_frame_came();
  Stream* stream = end ? find(id) : nullptr;
  if (stream == nullptr) return;
  stream->remote_ended = true;
  events_.on_end(id);
}

void Session::reset_came() {
  // A server resets what it likes.
  if (side_ == Side::kServer && !resets_.try_take(now_)) {
    cut(Breach::kResets, "too many streams were opened and reset");
  }
}

void Session::reset_sent(std::uint32_t error) {
  // These are ours, and counted where they are due.
  if (error == NGHTTP2_NO_ERROR || error == NGHTTP2_CANCEL || error == NGHTTP2_ENHANCE_YOUR_CALM) {
    return;
  }
  // A peer that makes us reset its streams is no better than one that does so itself.
  reset_came();
}

void Session::gave_up(std::uint32_t error, std::string_view why) {
  if (breach_ != Breach::kNone) return;
  breach_ = Breach::kProtocol;
  breach_message_ = why.empty() ? nghttp2_http2_strerror(error) : std::string(why);
}

void Session::goaway_came(StreamId last, std::uint32_t error) {
  gone_away_ = true;
  events_.on_goaway(last, error);
}

void Session::empty_frame_came() {
  if (!empty_frames_.try_take(now_)) {
    cut(Breach::kEmptyFrames, "too many frames without content");
  }
}

void Session::closed(StreamId id, std::uint32_t error) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const std::unique_ptr<Stream> stream = std::move(found->second);
  streams_.erase(found);
  unsent_ -= stream->unsent;
  // Data that was not consumed before its stream ended no longer blocks the others.
  nghttp2_session_consume_connection(session_, stream->unconsumed);
  // Nobody was told of a request whose headers never came whole.
  if (side_ == Side::kClient || stream->headers_came) events_.on_closed(id, error);
}

void Session::cut(Breach breach, const std::string& why) {
  if (breach_ != Breach::kNone) return;
  breach_ = breach;
  breach_message_ = why;
  if (!dead_)
    go_away(breach == Breach::kProtocol ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_ENHANCE_YOUR_CALM, why);
}

}  // namespace muster::rpc
