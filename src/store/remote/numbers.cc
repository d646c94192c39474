#include "store/remote/numbers.h"

#include <limits>

#include "base/text.h"

namespace muster::remote {

std::optional<std::int64_t> to_number(std::string_view revision) {
  const auto number = parse_unsigned(revision);
  constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!number || *number == 0 || *number >= limit) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<PageStart> PageStart::parse(std::string_view from) {
  const auto space = from.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto revision = to_number(from.substr(0, space));
  if (!revision) return std::nullopt;
  return PageStart{*revision, from.substr(space + 1)};
}

std::string PageStart::text() const {
  return std::to_string(revision) + " " + std::string(key);
}

}  // namespace muster::remote
