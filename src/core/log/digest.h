#pragma once

#include <array>
#include <string>
#include <string_view>

namespace muster::rlog {

/// A SHA-256.
using Digest = std::array<unsigned char, 32>;

[[nodiscard]] Digest sha256(std::string_view bytes);

[[nodiscard]] inline std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}
[[nodiscard]] std::string to_hex(const Digest& digest);

/// Adds the digest of everything in `body` to its end.
void seal_with_digest(std::string& body);
/// The part before a digest that fits it; empty when the bytes are not what was written.
[[nodiscard]] std::string_view verified(std::string_view body);
/// The last 32 bytes; `body` must have them.
[[nodiscard]] Digest digest_at_end(std::string_view body);

}  // namespace muster::rlog
