#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/short_queue.h"
#include "rpc/headers.h"
#include "rpc/payload.h"

namespace muster::rpc {

using StreamId = std::int32_t;

/// A session's state of one stream.
struct Stream {
  struct Message {
    std::array<char, 5> prefix;
    Payload body;
  };

  StreamId id = 0;
  HeaderBlock block;          ///< Being received.
  bool headers_came = false;  ///< The next ones are trailers.
  bool too_long = false;
  bool responded = false;
  bool remote_ended = false;  ///< The peer sends no more.
  bool waits = false;         ///< nghttp2 asks for no data until told that there is some.
  bool finished = false;
  bool was_reset = false;  ///< By this side; nothing more is sent on it.
  bool drained = true;
  std::size_t unconsumed = 0;
  ShortQueue<Message> queue;
  std::size_t sent = 0;  ///< Of the first message, including the prefix.
  std::size_t unsent = 0;
  HeaderBlock trailers;

  void push(Payload message);
  /// Moves as many bytes of the messages as fit; returns their number.
  std::size_t copy(char* to, std::size_t room);
  /// Drops its messages, of which no more is sent; returns the number of unsent bytes.
  std::size_t drop();
};

}  // namespace muster::rpc
