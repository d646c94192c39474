#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::remote {

/// A revision or cursor as the server's number; nothing for what no server can have issued.
[[nodiscard]] std::optional<std::int64_t> to_number(std::string_view revision);

/// Where the next page of a list begins: after `key`, in a list whose first page was made at
/// `revision`. As text it is `next` of a page.
struct PageStart {
  std::int64_t revision;
  std::string_view key;

  /// Nothing for what is not of our making. Refers to `from`.
  [[nodiscard]] static std::optional<PageStart> parse(std::string_view from);
  [[nodiscard]] std::string text() const;
};

}  // namespace muster::remote
