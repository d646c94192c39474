#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::rpc {

/// Bytes of the flag and the length before each message.
inline constexpr std::size_t kMessagePrefix = 5;

/// Finds gRPC's messages in the bytes of a stream: each is a flag, its length in four bytes, and
/// its body. A message longer than `bytes_max` is refused by its length, before any of it is kept.
/// Messages are never inflated: a message with the flag for compression is refused. Pure. Threads:
/// one.
class MessageReader {
 public:
  explicit MessageReader(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Appends the messages that `bytes` complete. kThrottled: too long. kUnsupported: compressed.
  /// Unusable after an error.
  [[nodiscard]] Status feed(std::string_view bytes, std::vector<std::string>& messages);
  /// Whether the bytes so far end at the end of a message.
  [[nodiscard]] bool whole() const { return prefix_size_ == 0; }

 private:
  std::size_t bytes_max_;
  std::array<char, kMessagePrefix> prefix_{};
  std::size_t prefix_size_ = 0;  ///< Of the current message; 0: there is none.
  std::size_t length_ = 0;
  std::string body_;
};

/// The prefix of a message of `size` bytes.
[[nodiscard]] std::array<char, kMessagePrefix> message_prefix(std::size_t size);

}  // namespace muster::rpc
