#pragma once

#include <string>

/// Text on its way into a generated script.
namespace muster::cli {

/// As one word of bash and zsh, in single quotes.
[[nodiscard]] inline std::string single_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// `text` with the program's name where NAME stands.
[[nodiscard]] inline std::string with_name(std::string text, const std::string& name) {
  for (std::size_t at = text.find("NAME"); at != text.npos; at = text.find("NAME", at)) {
    text.replace(at, 4, name);
    at += name.size();
  }
  return text;
}

}  // namespace muster::cli
