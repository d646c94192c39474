#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/short_queue.h"
#include "rpc/headers.h"
#include "rpc/payload.h"

namespace muster::rpc {

using StreamId = std::int32_t;

/// What a session knows of one of its streams.
struct Stream {
  struct Message {
    std::array<char, 5> prefix;
    Payload body;
  };

  StreamId id = 0;
  HeaderBlock block;          ///< That is coming.
  bool headers_came = false;  ///< Those that come next are trailers.
  bool too_long = false;
  bool responded = false;
  bool remote_ended = false;  ///< The other side sends no more.
  bool waits = false;         ///< nghttp2 asks for no data until it is told that there is some.
  bool finished = false;
  bool was_reset = false;  ///< Here; nothing more is sent on it.
  bool drained = true;
  std::size_t unconsumed = 0;
  ShortQueue<Message> queue;
  std::size_t sent = 0;  ///< Of the first, prefix included.
  std::size_t unsent = 0;
  HeaderBlock trailers;

  void push(Payload message);
  /// Moves as many bytes of the messages as fit; how many that was.
  std::size_t copy(char* to, std::size_t room);
  /// Of its messages, none of which is sent any more; how many bytes had not left.
  std::size_t drop();
};

}  // namespace muster::rpc
