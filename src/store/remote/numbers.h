#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::remote {

/// A revision or cursor as the server's number; nothing if no server can have issued it.
[[nodiscard]] std::optional<std::int64_t> to_number(std::string_view revision);

/// The beginning of the next page of a list: after `key`, in a list whose first page was made at
/// `revision`. Its text is the `next` of a page.
struct PageStart {
  std::int64_t revision;
  std::string_view key;

  /// Nothing if `from` is not from an earlier page. The result refers to `from`.
  [[nodiscard]] static std::optional<PageStart> parse(std::string_view from);
  [[nodiscard]] std::string text() const;
};

}  // namespace muster::remote
