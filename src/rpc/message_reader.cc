#include "rpc/message_reader.h"

#include <algorithm>
#include <utility>

namespace muster::rpc {

std::array<char, 5> message_prefix(std::size_t size) {
  return {0, static_cast<char>(size >> 24U & 255U), static_cast<char>(size >> 16U & 255U),
          static_cast<char>(size >> 8U & 255U), static_cast<char>(size & 255U)};
}

Status MessageReader::feed(std::string_view bytes, std::vector<std::string>& messages) {
  while (!bytes.empty()) {
    if (prefix_size_ < kMessagePrefix) {
      const std::size_t taken = std::min(bytes.size(), kMessagePrefix - prefix_size_);
      std::copy_n(bytes.begin(), taken,
                  prefix_.begin() + static_cast<std::ptrdiff_t>(prefix_size_));
      prefix_size_ += taken;
      bytes.remove_prefix(taken);
      if (prefix_size_ < kMessagePrefix) break;
      if (prefix_[0] != 0) {
        return {Errc::kUnsupported, "the message is compressed; only identity is accepted"};
      }
      length_ = 0;
      for (std::size_t i = 1; i < kMessagePrefix; ++i) {
        length_ = length_ << 8U | static_cast<unsigned char>(prefix_[i]);
      }
      if (length_ > bytes_max_) {
        return {Errc::kThrottled, "the message has " + std::to_string(length_) + " bytes, and " +
                                      std::to_string(bytes_max_) + " is the most"};
      }
    }
    const std::size_t taken = std::min(bytes.size(), length_ - body_.size());
    body_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (body_.size() < length_) break;
    messages.push_back(std::exchange(body_, {}));
    prefix_size_ = 0;
  }
  return Done{};
}

}  // namespace muster::rpc
