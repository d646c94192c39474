#include "rpc/stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "rpc/message_reader.h"

namespace muster::rpc {

void Stream::push(Payload message) {
  const std::array<char, 5> prefix = message_prefix(message->size());
  unsent += prefix.size() + message->size();
  drained = false;
  queue.push_back({prefix, std::move(message)});
}

std::size_t Stream::drop() {
  queue = {};
  sent = 0;
  return std::exchange(unsent, 0);
}

std::size_t Stream::copy(char* to, std::size_t room) {
  std::size_t copied = 0;
  while (copied < room && !queue.empty()) {
    const Message& first = queue.front();
    const std::size_t size = first.prefix.size() + first.body->size();
    const bool in_prefix = sent < first.prefix.size();
    const char* from =
        in_prefix ? first.prefix.data() + sent : first.body->data() + (sent - first.prefix.size());
    const std::size_t left = (in_prefix ? first.prefix.size() : size) - sent;
    const std::size_t part = std::min(left, room - copied);
    std::memcpy(to + copied, from, part);
    copied += part;
    sent += part;
    if (sent == size) {
      queue.pop_front();
      sent = 0;
    }
  }
  unsent -= copied;
  return copied;
}

}  // namespace muster::rpc
