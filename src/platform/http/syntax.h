#pragma once

#include <algorithm>
#include <string_view>

namespace muster::http {

/// A name of a header, or a method (RFC 9110, 5.6.2).
[[nodiscard]] inline bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7F &&
           std::string_view("()<>@,;:\\\"/[]?={}").find(c) == std::string_view::npos;
  });
}

/// Whether `text` holds what no line of a head may hold: a control character other than a tab.
[[nodiscard]] inline bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
}

}  // namespace muster::http
