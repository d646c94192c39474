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

/// Appends the digest of `body` to it.
void seal_with_digest(std::string& body);
/// The part before a matching digest; empty if the bytes were changed.
[[nodiscard]] std::string_view verified(std::string_view body);
/// The last 32 bytes. Requires: `body` has them.
[[nodiscard]] Digest digest_at_end(std::string_view body);

}  // namespace muster::rlog
