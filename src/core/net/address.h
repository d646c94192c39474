#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Where something listens or is reached: host:port, [v6]:port.
struct Address {
  std::string host;  ///< A name or a numeric address, without brackets.
  std::uint16_t port = 0;

  /// Without a port, `port` is taken; 0 there means that one must be written. Port 0 stands for
  /// "any". kInvalid with a sentence that shows how to write it.
  [[nodiscard]] static Result<Address> parse(std::string_view text, std::uint16_t port = 0);

  /// Every interface: 0.0.0.0, :: or nothing before the colon.
  [[nodiscard]] bool is_wildcard() const;
  /// Reaches this machine only. A name other than localhost may lead anywhere and does not count.
  [[nodiscard]] bool is_loopback() const;
  /// As parse() reads it.
  [[nodiscard]] std::string to_string() const;

  bool operator==(const Address&) const = default;
};

}  // namespace muster
