#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_bounds.h"
#include "base/time.h"

/// Helpers for the JSON of the plugins' objects: a missing field or a wrong type is distinguished
/// from a value, and nothing throws.
namespace muster::record {

using Json = nlohmann::json;

/// The end of the year 9999, in milliseconds: no calendar goes on, and nothing added overflows.
inline constexpr std::uint64_t kTimeMax = 253'402'300'799'000;

/// Not an object if the text is not one, or takes more memory than an honest writer needs.
[[nodiscard]] inline Json parse(std::string_view text) {
  if (!check_json_bounds(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}
[[nodiscard]] inline std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
[[nodiscard]] inline std::optional<std::uint64_t> number(const Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_number_unsigned()) return {};
  return it->get<std::uint64_t>();
}
[[nodiscard]] inline std::optional<WallTime> wall(const Json& json, const char* name) {
  const auto value = number(json, name);
  if (!value || *value > kTimeMax) return {};
  return wall_from_ms(static_cast<std::int64_t>(*value));
}
[[nodiscard]] inline std::optional<std::string> text(const Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_string()) return {};
  return it->get<std::string>();
}

}  // namespace muster::record
