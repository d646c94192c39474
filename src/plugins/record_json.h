#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

/// How the plugins read and write the JSON of their objects: what is absent or of another type
/// is told apart from a value, and nothing throws.
namespace muster::record {

using Json = nlohmann::json;

/// Not an object when the text is none.
[[nodiscard]] inline Json parse(std::string_view text) {
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
[[nodiscard]] inline std::optional<std::string> text(const Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_string()) return {};
  return it->get<std::string>();
}

}  // namespace muster::record
